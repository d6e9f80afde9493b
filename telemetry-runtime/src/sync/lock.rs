//! A lock for short sections that knows its owner: code that interrupts the owning thread does not
//! get it.

use core::ptr;

use crate::sys;
use crate::sys::atomic::{AtomicUsize, Ordering, constant, spin_loop};

/// How long a thread waits for an owner that is stopped inside, in nanoseconds.
const OWNER_TIMEOUT: u64 = 1_000_000_000;

pub(crate) struct Lock {
    /// The owning thread, or 0 for none.
    owner: AtomicUsize,
}

/// Releases the lock on drop.
pub(crate) struct LockGuard<'l>(&'l Lock);

/// Why a thread does not get the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotHeld {
    /// The calling thread owns the lock already.
    Reentrant,
    /// Another thread has owned the lock for very long.
    Busy,
}

/// Returns a number that no other thread of the process has at the same time. It is never 0.
pub(crate) fn this_thread() -> usize {
    std::thread_local! {
        // Without a destructor, so that it exists as long as its thread.
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| ptr::from_ref(place).addr())
}

impl Lock {
    constant! {
        /// Creates a free lock.
        pub(crate) fn new() -> Lock {
            Lock { owner: AtomicUsize::new(0) }
        }
    }

    /// Takes the lock for the calling thread.
    pub(crate) fn take(&self) -> Result<LockGuard<'_>, NotHeld> {
        self.take_as(this_thread())
    }

    /// Takes the lock for the given thread.
    #[inline(always)]
    pub(crate) fn take_as(&self, thread: usize) -> Result<LockGuard<'_>, NotHeld> {
        // Acquire: makes visible what the previous owner did under the lock.
        match self.owner.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(LockGuard(self)),
            Err(owner) if owner == thread => Err(NotHeld::Reentrant),
            Err(_) => self.wait(thread),
        }
    }

    #[cold]
    fn wait(&self, thread: usize) -> Result<LockGuard<'_>, NotHeld> {
        let mut since = None;
        for attempt in 1_u32.. {
            let exchange =
                || self.owner.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if self.owner.load(Ordering::Relaxed) == 0 && exchange() {
                return Ok(LockGuard(self));
            }
            if !attempt.is_multiple_of(64) {
                spin_loop();
                continue;
            }
            let now = sys::monotonic_ns();
            if now.wrapping_sub(*since.get_or_insert(now)) > OWNER_TIMEOUT {
                break;
            }
            sys::yield_now();
        }
        Err(NotHeld::Busy)
    }

    /// Frees the lock, whose owner is a thread of another process.
    pub(crate) fn reset(&self) {
        self.owner.store(0, Ordering::Release);
    }
}

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        self.0.owner.store(0, Ordering::Release);
    }
}
