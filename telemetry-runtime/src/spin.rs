//! A lock for moments: no system call, no allocation, and nobody waits for it long.

use crate::sync::{AtomicBool, Ordering, constant, spin_loop};

/// A flag that one thread has at a time. Whoever cannot have it soon goes without: a signal handler, say,
/// that interrupts the very thread that has it.
pub(crate) struct Spin {
    taken: AtomicBool,
}

/// Gives the flag back.
pub(crate) struct Held<'s>(&'s Spin);

impl Spin {
    constant! {
        /// A free one.
        pub(crate) fn new() -> Spin {
            Spin { taken: AtomicBool::new(false) }
        }
    }

    /// Takes the flag if it is free, or becomes free within so many tries.
    pub(crate) fn take(&self, tries: u32, rest: impl Fn()) -> Option<Held<'_>> {
        for attempt in 0..tries {
            // Acquire: what the one before did under the lock is seen.
            let exchange = || self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
            if !self.taken.load(Ordering::Relaxed) && exchange().is_ok() {
                return Some(Held(self));
            }
            if attempt % 64 == 63 { rest() } else { spin_loop() }
        }
        None
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
    }
}
