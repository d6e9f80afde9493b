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

    /// Takes the lock for the thread `me`. Returns `None` if that thread has it already, or does
    /// not get it within about a second. Its owner may be interrupted by a handler that waits for
    /// this thread.
    pub(crate) fn lock(&self, me: usize) -> Option<SpinGuard<'_>> {
        self.take(me, TRIES)
    }

    /// Takes the lock, however long that takes. For a thread that does not have it.
    pub(crate) fn wait(&self, me: usize) -> Option<SpinGuard<'_>> {
        self.take(me, u32::MAX)
    }

    /// Takes the lock if it is free or becomes free within `tries` tries.
    pub(crate) fn take(&self, me: usize, tries: u32) -> Option<SpinGuard<'_>> {
        for attempt in 0..tries {
            // Acquire: makes visible what the previous owner did under the lock.
            match self.owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(SpinGuard(self)),
                Err(owner) if owner == me => return None,
                Err(_) if attempt < SPINS => spin_loop(),
                Err(_) if attempt < YIELDS => sys::yield_now(),
                Err(_) => sys::pause(),
            }
        }
        None
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
