//! The list of sealed blocks: lanes push, whoever sorts them takes all at once.
#![allow(unsafe_code)]

use core::ptr::null_mut;

use crate::sync::{AtomicPtr, Ordering, constant};

/// What can be in a [`List`].
pub(crate) trait Linked: Sized {
    /// Where the list keeps the next one.
    fn next(&self) -> &AtomicPtr<Self>;
}

/// A list that only grows until it is taken whole: nothing leaves and returns under a push, so there
/// is no ABA.
pub(crate) struct List<T> {
    /// The latest.
    first: AtomicPtr<T>,
}

impl<T: Linked> List<T> {
    constant! {
        /// An empty one.
        pub(crate) fn new() -> List<T> {
            List { first: AtomicPtr::new(null_mut()) }
        }
    }

    /// Adds one, which must be the caller's alone.
    ///
    /// # Safety
    /// `item` must be valid until it is taken.
    pub(crate) unsafe fn push(&self, item: *mut T) {
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            // SAFETY: the item is the caller's until the exchange succeeds.
            unsafe { &*item }.next().store(first, Ordering::Relaxed);
            // Release: all that the caller wrote to the item comes with it.
            match self.first.compare_exchange_weak(first, item, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Forgets all, whose memory is gone.
    pub(crate) fn clear(&self) {
        self.first.store(null_mut(), Ordering::Relaxed);
    }

    /// Takes all, the earliest first: each leads to the next, the last to null.
    pub(crate) fn take(&self) -> *mut T {
        // Acquire: pairs with the push of each.
        let mut next = self.first.swap(null_mut(), Ordering::Acquire);
        let mut earliest = null_mut();
        while !next.is_null() {
            // SAFETY: what was in the list is nobody's but ours now, and valid by the promise to `push`.
            let link = unsafe { &*next }.next();
            let later = link.load(Ordering::Relaxed);
            link.store(earliest, Ordering::Relaxed);
            earliest = next;
            next = later;
        }
        earliest
    }
}
