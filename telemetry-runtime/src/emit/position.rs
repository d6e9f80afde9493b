//! What a test learns of a thread: its numbers, and how far its lanes are.

use crate::sys::atomic::{AtomicU32, Ordering};

/// The numbers of a thread in the session. Almost every thread has one. Destructors that run after
/// the runtime has ended a thread emit as a second one.
#[derive(Debug, Default)]
pub struct Numbers([AtomicU32; 2]);

impl Numbers {
    /// Returns true if the number is one of the thread's.
    #[must_use]
    pub fn has(&self, number: u32) -> bool {
        number != 0 && self.0.iter().any(|own| own.load(Ordering::Acquire) == number)
    }

    /// Adds a number. Only the thread itself does.
    pub(super) fn add(&self, number: u32) {
        if let Some(free) = self.0.iter().find(|own| own.load(Ordering::Relaxed) == 0)
            && !self.has(number)
        {
            free.store(number, Ordering::Release);
        }
    }
}

/// How far a lane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LanePosition {
    /// The fingerprint of its registry.
    pub registry: u64,
    /// The bit of its kind.
    pub kind: u8,
    /// The session's number of its thread.
    pub thread: u32,
    /// The number of events that were recorded in it.
    pub recorded: u64,
    /// The number of its events that found no memory.
    pub lost_pool: u64,
    /// The number of its events that interrupted another one of it.
    pub lost_reentrant: u64,
}
