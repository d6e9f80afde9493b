//! The list of sealed blocks: lanes push blocks, and the sorting thread takes all of them at once.
#![allow(unsafe_code)]

use core::ptr::null_mut;

use crate::sys::atomic::{AtomicPtr, Ordering, constant};

/// An item of a [`List`].
pub(crate) trait Linked: Sized {
    /// The link to the next item, for the list to use.
    fn next(&self) -> &AtomicPtr<Self>;
}

/// A list that grows until a thread takes all of it. No item leaves and returns during a push, so
/// the ABA problem does not arise.
pub(crate) struct List<T> {
    /// The item that was pushed last.
    first: AtomicPtr<T>,
}

impl<T: Linked> List<T> {
    constant! {
        /// Creates an empty list.
        pub(crate) fn new() -> List<T> {
            List { first: AtomicPtr::new(null_mut()) }
        }
    }

    /// Adds an item that only the caller owns.
    ///
    /// # Safety
    /// `item` must be valid until it is taken.
    pub(crate) unsafe fn push(&self, item: *mut T) {
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller owns the item until the exchange succeeds.
            unsafe { &*item }.next().store(first, Ordering::Relaxed);
            // Release: the thread that takes the item sees all that the caller wrote to it.
            match self.first.compare_exchange_weak(first, item, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Forgets all items, because their memory is gone.
    pub(crate) fn clear(&self) {
        self.first.store(null_mut(), Ordering::Relaxed);
    }

    /// Takes all items and returns the earliest. Each item leads to the next one, the last item to
    /// null.
    pub(crate) fn take(&self) -> *mut T {
        // Acquire: pairs with the push of each item.
        let mut next = self.first.swap(null_mut(), Ordering::Acquire);
        let mut earliest = null_mut();
        while !next.is_null() {
            // SAFETY: this thread alone owns the items now, and they are valid by the contract of
            // `push`.
            let link = unsafe { &*next }.next();
            let later = link.load(Ordering::Relaxed);
            link.store(earliest, Ordering::Relaxed);
            earliest = next;
            next = later;
        }
        earliest
    }
}
