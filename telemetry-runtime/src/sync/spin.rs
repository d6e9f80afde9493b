//! A lock for short sections: no system call if it is free, no allocation, and safe in signal
//! handlers.

use crate::sys;
use crate::sys::atomic::{AtomicUsize, Ordering, constant, spin_loop};

/// A word that says which thread has the lock. A signal handler that interrupts the owner does not
/// get the lock. All others wait, since the owner may have been preempted.
pub(crate) struct Spin {
    /// The owner, see [`sys::me`]; 0 is none.
    owner: AtomicUsize,
}

/// Releases the lock on drop.
pub(crate) struct SpinGuard<'s>(&'s Spin);

/// Why a thread does not get the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotHeld {
    /// The calling thread has the lock already: a signal handler interrupted it there.
    Reentrant,
    /// Another thread has had the lock for very long. It may be interrupted by a handler that waits
    /// for this thread.
    Busy,
}

/// Number of tries before the thread yields, before it sleeps between tries, and in all (about a
/// second).
const SPINS: u32 = 100;
const YIELDS: u32 = 1000;
const TRIES: u32 = 20_000;

impl Spin {
    constant! {
        /// Creates a free lock.
        pub(crate) fn new() -> Spin {
            Spin { owner: AtomicUsize::new(0) }
        }
    }

    /// Takes the lock for the thread `me`, see [`sys::me`]. Waits for about a second.
    #[inline(always)]
    pub(crate) fn lock(&self, me: usize) -> Result<SpinGuard<'_>, NotHeld> {
        self.take(me, TRIES)
    }

    /// Takes the lock, however long that takes. For a thread that does not have it.
    pub(crate) fn wait(&self, me: usize) -> Result<SpinGuard<'_>, NotHeld> {
        self.take(me, u32::MAX)
    }

    /// Takes the lock if it is free or becomes free within `tries` tries.
    #[inline(always)]
    pub(crate) fn take(&self, me: usize, tries: u32) -> Result<SpinGuard<'_>, NotHeld> {
        match self.try_take(me) {
            Ok(()) => Ok(SpinGuard(self)),
            Err(owner) if owner == me => Err(NotHeld::Reentrant),
            Err(_) => self.retry(me, tries),
        }
    }

    /// Tries once. Returns the owner if there is one.
    #[inline(always)]
    fn try_take(&self, me: usize) -> Result<(), usize> {
        // Acquire: makes visible what the previous owner did under the lock.
        self.owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).map(drop)
    }

    #[cold]
    fn retry(&self, me: usize, tries: u32) -> Result<SpinGuard<'_>, NotHeld> {
        for attempt in 1..tries {
            match attempt {
                0..SPINS => spin_loop(),
                SPINS..YIELDS => sys::yield_now(),
                _ => sys::pause(),
            }
            if self.try_take(me).is_ok() {
                return Ok(SpinGuard(self));
            }
        }
        Err(NotHeld::Busy)
    }

    /// Frees the lock, whose owner is a thread of another process.
    pub(crate) fn reset(&self) {
        self.owner.store(0, Ordering::Release);
    }
}

impl Drop for SpinGuard<'_> {
    fn drop(&mut self) {
        self.0.owner.store(0, Ordering::Release);
    }
}
