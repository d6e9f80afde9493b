//! The fixed memory for a traceback, which must not allocate, and for which a signal handler's
//! stack is small.
//!
//! There is one for the process, of some 100 KiB. Its pages are not touched before they are used.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};

use super::blocks::CHUNK;
use super::found::Found;
use crate::sync::spin::{Spin, SpinGuard};
use crate::sys;

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

// SAFETY: only the owner of the lock uses it.
unsafe impl Sync for Shared {}

static SCRATCH: Shared =
    Shared(UnsafeCell::new(Scratch { payload: [0; _], slots: [0; _], found: [Found::NONE; _] }));

/// The lock of the memory.
static USER: Spin = Spin::new();

/// How often a thread tries to take memory that is in use: some tens of milliseconds.
const TRIES: u32 = 2_000;

/// The right to use the memory, until it is dropped.
pub(crate) struct Guard {
    _lock: SpinGuard<'static>,
}

impl Guard {
    /// Waits a little if another thread uses the memory. Returns `None` if that does not end, or if
    /// this code interrupts the thread that uses it.
    pub(crate) fn take() -> Option<Guard> {
        USER.take(sys::me(), TRIES).ok().map(|lock| Guard { _lock: lock })
    }
}

/// Frees the memory in the child of a fork, where the thread that used it does not exist.
pub(crate) fn reset_in_child() {
    USER.reset();
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
