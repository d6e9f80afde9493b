//! The state of a lane's record: free, claimed, live, closed, and free again.

use crate::sys::atomic::{AtomicU8, Ordering};

/// Not in use.
const FREE: u8 = 0;
/// Claimed, but not filled in yet.
const CLAIMED: u8 = 1;
/// Belongs to a running lane.
const LIVE: u8 = 2;
/// Belongs to a thread that has ended. The drain frees the record once everything in it is written.
const CLOSED: u8 = 3;

/// The state of a record. Zero is free.
pub(crate) struct Status(AtomicU8);

impl Status {
    /// Creates a free state, for models. Records in the pool's memory begin as zeros.
    #[cfg(loom)]
    pub(crate) fn new() -> Status {
        Status(AtomicU8::new(FREE))
    }

    /// Claims a free record, which the caller fills in before [`Status::live`]. Returns false if it
    /// is not free.
    pub(crate) fn claim(&self) -> bool {
        // Acquire: all that was done with the record before it was freed is visible.
        self.0.load(Ordering::Relaxed) == FREE
            && self.0.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Publishes what the claiming thread has filled in.
    pub(crate) fn live(&self) {
        self.0.store(LIVE, Ordering::Release);
    }

    /// Records that the lane's thread has ended and has handed its last block over.
    pub(crate) fn close(&self) {
        self.0.store(CLOSED, Ordering::Release);
    }

    /// Frees a closed record.
    pub(crate) fn free(&self) {
        self.0.store(FREE, Ordering::Release);
    }

    /// Returns true between `live` and `free`. What the claiming thread filled in is then visible.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self.0.load(Ordering::Acquire), LIVE | CLOSED)
    }

    /// Returns true between `close` and `free`. What the lane did before it closed is then visible.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) == CLOSED
    }
}
