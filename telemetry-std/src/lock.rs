//! Locks that record how long threads wait for them.

use std::fmt::{self, Debug, Formatter};
use std::sync::{
    self, LockResult, MutexGuard, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
};

use crate::events::{self, LockMode};

/// A [`std::sync::Mutex`] with a name, whose waits are spans.
///
/// A lock that is free costs what the standard one costs. If another thread has it, the wait is
/// counted, and it is a span `LockWait` if the kind `Lock` is on. The guards are the standard ones,
/// so a [`std::sync::Condvar`] works with them.
pub struct Mutex<T: ?Sized> {
    name: &'static str,
    inner: sync::Mutex<T>,
}

/// A [`std::sync::RwLock`] with a name, whose waits are spans as those of a [`Mutex`].
pub struct RwLock<T: ?Sized> {
    name: &'static str,
    inner: sync::RwLock<T>,
}

/// Returns what `try_lock` returns, or waits for the lock.
#[inline]
fn take<G>(
    name: &'static str,
    at: *const (),
    mode: LockMode,
    tried: TryLockResult<G>,
    wait: impl FnOnce() -> LockResult<G>,
) -> LockResult<G> {
    match tried {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Err(poisoned),
        Err(TryLockError::WouldBlock) => wait_for(name, at, mode, wait),
    }
}

#[cold]
fn wait_for<G>(
    name: &'static str,
    at: *const (),
    mode: LockMode,
    wait: impl FnOnce() -> LockResult<G>,
) -> LockResult<G> {
    events::LOCK_WAITS.add(1);
    let _wait = events::lock_wait_scope!(telemetry::intern(name), at, mode);
    wait()
}

impl<T> Mutex<T> {
    /// Creates a lock. Its name is what tools show.
    pub const fn new(name: &'static str, value: T) -> Self {
        Mutex { name, inner: sync::Mutex::new(value) }
    }

    /// Returns the value.
    ///
    /// # Errors
    /// As [`std::sync::Mutex::into_inner`]: a thread has panicked while it had the lock.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock, and waits for it if another thread has it.
    ///
    /// # Errors
    /// As [`std::sync::Mutex::lock`]: a thread has panicked while it had the lock.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let at = (&raw const self.inner).cast();
        take(self.name, at, LockMode::Mutex, self.inner.try_lock(), || self.inner.lock())
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// As [`std::sync::Mutex::try_lock`].
    #[inline]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.inner.try_lock()
    }

    /// Returns the value, which nothing else can have.
    ///
    /// # Errors
    /// As [`std::sync::Mutex::get_mut`].
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }

    /// Returns true if a thread has panicked while it had the lock.
    pub fn is_poisoned(&self) -> bool {
        self.inner.is_poisoned()
    }

    /// Forgets that a thread has panicked.
    pub fn clear_poison(&self) {
        self.inner.clear_poison();
    }
}

impl<T> RwLock<T> {
    /// Creates a lock. Its name is what tools show.
    pub const fn new(name: &'static str, value: T) -> Self {
        RwLock { name, inner: sync::RwLock::new(value) }
    }

    /// Returns the value.
    ///
    /// # Errors
    /// As [`std::sync::RwLock::into_inner`]: a thread has panicked while it wrote.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock to read, and waits for it if another thread writes.
    ///
    /// # Errors
    /// As [`std::sync::RwLock::read`]: a thread has panicked while it wrote.
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let at = (&raw const self.inner).cast();
        take(self.name, at, LockMode::Read, self.inner.try_read(), || self.inner.read())
    }

    /// Takes the lock to write, and waits for it if another thread has it.
    ///
    /// # Errors
    /// As [`std::sync::RwLock::write`]: a thread has panicked while it wrote.
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let at = (&raw const self.inner).cast();
        take(self.name, at, LockMode::Write, self.inner.try_write(), || self.inner.write())
    }

    /// Takes the lock to read if it is free.
    ///
    /// # Errors
    /// As [`std::sync::RwLock::try_read`].
    #[inline]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        self.inner.try_read()
    }

    /// Takes the lock to write if it is free.
    ///
    /// # Errors
    /// As [`std::sync::RwLock::try_write`].
    #[inline]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        self.inner.try_write()
    }

    /// Returns the value, which nothing else can have.
    ///
    /// # Errors
    /// As [`std::sync::RwLock::get_mut`].
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }

    /// Returns true if a thread has panicked while it wrote.
    pub fn is_poisoned(&self) -> bool {
        self.inner.is_poisoned()
    }

    /// Forgets that a thread has panicked.
    pub fn clear_poison(&self) {
        self.inner.clear_poison();
    }
}

impl<T: ?Sized + Debug> Debug for Mutex<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("name", &self.name).field("inner", &&self.inner).finish()
    }
}

impl<T: ?Sized + Debug> Debug for RwLock<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").field("name", &self.name).field("inner", &&self.inner).finish()
    }
}
