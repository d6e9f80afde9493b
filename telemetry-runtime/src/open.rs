//! Which block a lane writes, for the drain to read what it has committed.

use core::ptr::{NonNull, null_mut};

use crate::sync::{AtomicPtr, Ordering};

/// The open block of a lane. Set by the lane; ended by the lane, or by whoever sorts the sealed block first.
pub(crate) struct Open<T>(AtomicPtr<T>);

impl<T> Open<T> {
    /// No block. For models; records in the pool's memory begin as zeros.
    #[cfg(loom)]
    pub(crate) fn new() -> Open<T> {
        Open(AtomicPtr::new(null_mut()))
    }

    /// The lane begins a block. Release: who sees it sees it as it was made.
    pub(crate) fn set(&self, block: NonNull<T>) {
        self.0.store(block.as_ptr(), Ordering::Release);
    }

    /// The block, if there is one.
    pub(crate) fn get(&self) -> Option<NonNull<T>> {
        NonNull::new(self.0.load(Ordering::Acquire))
    }

    /// The block was handed over, so it is no longer open, unless that is said already. Release: who sees no
    /// block open sees the events of this one counted.
    pub(crate) fn end(&self, block: NonNull<T>) {
        let _ = self.0.compare_exchange(block.as_ptr(), null_mut(), Ordering::Release, Ordering::Relaxed);
    }

    /// Forgets the block of an earlier lane.
    pub(crate) fn clear(&self) {
        self.0.store(null_mut(), Ordering::Relaxed);
    }
}
