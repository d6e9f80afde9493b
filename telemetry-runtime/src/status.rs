//! Whose a lane's record is: free, claimed, of a running lane, closed, free again.

use crate::sync::{AtomicU8, Ordering};

/// Nobody's.
const FREE: u8 = 0;
/// Taken, not yet filled in.
const CLAIMED: u8 = 1;
/// Of a running lane.
const LIVE: u8 = 2;
/// Of a thread that ended: the drain frees it once all is told.
const CLOSED: u8 = 3;

/// The state of a record. All zeros is free.
pub(crate) struct Status(AtomicU8);

impl Status {
    /// Free. For models; records in the pool's memory begin as zeros.
    #[cfg(loom)]
    pub(crate) fn new() -> Status {
        Status(AtomicU8::new(FREE))
    }

    /// Takes a free record, for the caller to fill in and then [`Status::live`]. False if it is not free.
    pub(crate) fn claim(&self) -> bool {
        // Acquire: all that was done with the record before it was freed is done.
        self.0.load(Ordering::Relaxed) == FREE
            && self.0.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// What the claimer has filled in may be seen.
    pub(crate) fn live(&self) {
        self.0.store(LIVE, Ordering::Release);
    }

    /// The lane's thread has ended; its last block is handed over.
    pub(crate) fn close(&self) {
        self.0.store(CLOSED, Ordering::Release);
    }

    /// Gives a closed record back.
    pub(crate) fn free(&self) {
        self.0.store(FREE, Ordering::Release);
    }

    /// True from `live` to `free`; what the claimer filled in is visible then.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self.0.load(Ordering::Acquire), LIVE | CLOSED)
    }

    /// True between `close` and `free`; what the lane did before it closed is visible then.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) == CLOSED
    }
}
