//! The fixed memory for a traceback, which must not allocate, and for which a signal handler's
//! stack is small.
//!
//! There is one for the process, of some 100 KiB. Its pages are not touched before they are used.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

use super::blocks::CHUNK;
use super::found::Found;
use crate::sys;
use crate::sys::atomic::{AtomicU64, Ordering};

/// Maximum number of events of a traceback.
pub(super) const MAX_EVENTS: usize = 256;
/// Maximum number of slots of a lane. The values of further slots are not known.
const SLOTS: usize = 4096;

/// The whole memory.
pub(crate) struct Scratch {
    /// A copy of a block.
    pub(crate) payload: [u8; CHUNK],
    pub(super) slots: [u64; SLOTS],
    /// The events by time, the latest last.
    pub(super) found: [Found; MAX_EVENTS],
}

struct Shared(UnsafeCell<Scratch>);

// SAFETY: only the thread that has set `USER` uses it.
unsafe impl Sync for Shared {}

static SCRATCH: Shared =
    Shared(UnsafeCell::new(Scratch { payload: [0; _], slots: [0; _], found: [Found::NONE; _] }));

/// The system's number of the thread that uses the memory, plus 1, or 0.
static USER: AtomicU64 = AtomicU64::new(0);

/// How often a thread tries to take memory that is in use.
const TRIES: usize = 10_000;

/// The right to use the memory, until it is dropped.
pub(crate) struct Guard(());

impl Guard {
    /// Waits a little if another thread uses the memory. Returns `None` if that does not end, or if
    /// this code interrupts the thread that uses it.
    pub(crate) fn take() -> Option<Guard> {
        let us = sys::thread_id().wrapping_add(1);
        for _ in 0..TRIES {
            match USER.compare_exchange(0, us, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(Guard(())),
                Err(user) if user == us => return None,
                Err(_) => sys::yield_now(),
            }
        }
        None
    }
}

/// Frees the memory in the child of a fork, where the thread that used it does not exist.
pub(crate) fn reset_in_child() {
    USER.store(0, Ordering::Release);
}

impl Drop for Guard {
    fn drop(&mut self) {
        USER.store(0, Ordering::Release);
    }
}

impl Deref for Guard {
    type Target = Scratch;
    fn deref(&self) -> &Scratch {
        // SAFETY: this guard is the only one, and is borrowed for as long as the reference.
        unsafe { &*SCRATCH.0.get() }
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut Scratch {
        // SAFETY: as above, and borrowed mutably.
        unsafe { &mut *SCRATCH.0.get() }
    }
}
