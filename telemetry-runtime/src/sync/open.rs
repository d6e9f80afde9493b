//! The block that a lane writes to now, so that the drain can read what the lane has committed.

use core::ptr::{NonNull, null_mut};

use crate::sys::atomic::{AtomicPtr, Ordering};

/// The open block of a lane. The lane sets it. The lane ends it, or the thread that first sorts the
/// sealed block.
pub(crate) struct Open<T>(AtomicPtr<T>);

impl<T> Open<T> {
    /// Creates a value without a block, for models. Records in the pool's memory begin as zeros.
    #[cfg(loom)]
    pub(crate) fn new() -> Open<T> {
        Open(AtomicPtr::new(null_mut()))
    }

    /// Sets the block that the lane begins. Release: a thread that sees the block sees it
    /// initialized.
    pub(crate) fn set(&self, block: NonNull<T>) {
        self.0.store(block.as_ptr(), Ordering::Release);
    }

    /// Returns the open block, if there is one.
    pub(crate) fn get(&self) -> Option<NonNull<T>> {
        NonNull::new(self.0.load(Ordering::Acquire))
    }

    /// Records that the block was handed over and is no longer open, unless that is recorded
    /// already. Release: a thread that finds no open block sees the events of this one counted.
    pub(crate) fn end(&self, block: NonNull<T>) {
        let _ = self.0.compare_exchange(block.as_ptr(), null_mut(), Ordering::Release, Ordering::Relaxed);
    }

    /// Forgets the block of an earlier lane.
    pub(crate) fn clear(&self) {
        self.0.store(null_mut(), Ordering::Relaxed);
    }
}
