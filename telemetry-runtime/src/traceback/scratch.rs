//! The fixed memory that a traceback is made in: it must not allocate, and a signal handler's stack is small.
//!
//! One for the process, of some 100 KiB that are not touched before they are used.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

use super::blocks::CHUNK;
use super::last::Found;
use crate::sync::{AtomicU64, Ordering};
use crate::sys;

/// Most events of a traceback.
pub(super) const MOST: usize = 256;
/// Slots of a lane that are kept. Values of further ones are not known.
const SLOTS: usize = 4096;

/// All of it.
pub(crate) struct Scratch {
    /// A block, copied.
    pub(crate) payload: [u8; CHUNK],
    pub(super) slots: [u64; SLOTS],
    /// By time, the latest last.
    pub(super) found: [Found; MOST],
}

struct Shared(UnsafeCell<Scratch>);

// SAFETY: only who has set `USER` uses it.
unsafe impl Sync for Shared {}

static SCRATCH: Shared =
    Shared(UnsafeCell::new(Scratch { payload: [0; _], slots: [0; _], found: [Found::NONE; _] }));

/// One more than the system's number of the thread that uses it, or 0.
static USER: AtomicU64 = AtomicU64::new(0);

/// How often who finds it in use looks again.
const TRIES: usize = 10_000;

/// The right to use the scratch memory, until dropped.
pub(crate) struct Guard(());

impl Guard {
    /// Waits a little if another thread has it. None if it goes on having it, or if this interrupts who has
    /// it.
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

/// In the child of a fork: whoever had the memory is not there.
pub(crate) fn begin_anew() {
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
        // SAFETY: this guard is the only one, and borrowed for as long as the reference.
        unsafe { &*SCRATCH.0.get() }
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut Scratch {
        // SAFETY: as above, and borrowed mutably.
        unsafe { &mut *SCRATCH.0.get() }
    }
}
