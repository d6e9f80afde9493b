//! A lock for moments that knows its thread: who interrupts the very thread that has it goes without.

use core::ptr;

use crate::sync::{AtomicUsize, Ordering, constant, spin_loop};
use crate::sys;

/// How long is waited for a thread that is stopped inside, in nanoseconds.
const PATIENCE: u64 = 1_000_000_000;

pub(super) struct Lock {
    /// The thread that has it, 0 for none.
    owner: AtomicUsize,
}

/// Gives the lock back.
pub(super) struct Held<'l>(&'l Lock);

/// Why the lock cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotHeld {
    /// The calling thread has it.
    Nested,
    /// Another thread has it for very long.
    Busy,
}

/// A number that no other thread of the process has at the same time; never 0.
pub(super) fn this_thread() -> usize {
    std::thread_local! {
        // Without a destructor, so that it is there as long as its thread.
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| ptr::from_ref(place).addr())
}

impl Lock {
    constant! {
        /// A free one.
        pub(super) fn new() -> Lock {
            Lock { owner: AtomicUsize::new(0) }
        }
    }

    /// Takes it for the calling thread.
    pub(super) fn take(&self) -> Result<Held<'_>, NotHeld> {
        self.take_as(this_thread())
    }

    /// Takes it for a thread.
    #[inline(always)]
    pub(super) fn take_as(&self, thread: usize) -> Result<Held<'_>, NotHeld> {
        // Acquire: what the one before did under the lock is seen.
        match self.owner.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(Held(self)),
            Err(owner) if owner == thread => Err(NotHeld::Nested),
            Err(_) => self.wait(thread),
        }
    }

    #[cold]
    fn wait(&self, thread: usize) -> Result<Held<'_>, NotHeld> {
        let mut since = None;
        for attempt in 1_u32.. {
            let exchange =
                || self.owner.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if self.owner.load(Ordering::Relaxed) == 0 && exchange() {
                return Ok(Held(self));
            }
            if !attempt.is_multiple_of(64) {
                spin_loop();
                continue;
            }
            let now = sys::monotonic_ns();
            if now.wrapping_sub(*since.get_or_insert(now)) > PATIENCE {
                break;
            }
            sys::yield_now();
        }
        Err(NotHeld::Busy)
    }

    /// Free again, whoever had it: that thread is another process's.
    pub(super) fn reset(&self) {
        self.owner.store(0, Ordering::Release);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.owner.store(0, Ordering::Release);
    }
}
