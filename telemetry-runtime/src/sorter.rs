//! Sealed blocks in the order of their lanes: handed over without a lock, sorted into queues under one.
#![allow(unsafe_code)]

use core::ptr::{NonNull, null_mut};

use crate::list::{Linked, List};
use crate::open::Open;
use crate::spin::{Held, Spin};
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, constant};

/// What can be sorted: a block.
pub(crate) trait Stored: Linked {
    /// Its size.
    fn pages(&self) -> usize;
    /// A pass reads it: it may not go back to the pool. Changed under the sorter's lock.
    fn pinned(&self) -> &AtomicBool;
    /// Where its lane says that it is open.
    fn open(&self) -> &Open<Self>;
}

/// Where blocks are sorted.
pub(crate) struct Sorter<T> {
    lock: Spin,
    /// As the lanes hand them over.
    sealed: List<T>,
    sealed_pages: AtomicUsize,
    /// Those for the sinks. Other queues are their owners'.
    outgoing: Queue<T>,
}

/// The right to sort.
pub(crate) struct Sorting<'s, T> {
    sorter: &'s Sorter<T>,
    _held: Held<'s>,
}

impl<T: Stored> Sorter<T> {
    constant! {
        /// Nothing sealed.
        pub(crate) fn new() -> Sorter<T> {
            Sorter {
                lock: Spin::new(),
                sealed: List::new(),
                sealed_pages: AtomicUsize::new(0),
                outgoing: Queue::new(),
            }
        }
    }

    /// Takes a block from a lane that is done with it. Returns how many pages wait to be sorted.
    ///
    /// # Safety
    /// The block must be the caller's, and valid until it is taken from its queue.
    pub(crate) unsafe fn hand_over(&self, block: NonNull<T>) -> usize {
        // SAFETY: the block is the caller's until it is pushed. Its lane's record is there for longer.
        let (pages, open): (_, *const Open<T>) = unsafe { (block.as_ref().pages(), block.as_ref().open()) };
        let waiting = self.sealed_pages.fetch_add(pages, Ordering::Relaxed) + pages;
        // SAFETY: the caller's promise.
        unsafe { self.sealed.push(block.as_ptr()) };
        // Not before: who sorts finds the block in the list, or open, or both, but never in neither.
        // SAFETY: the lane is the caller's.
        unsafe { &*open }.end(block);
        waiting
    }

    /// The lock, within so many tries.
    pub(crate) fn lock(&self, tries: u32, rest: impl Fn()) -> Option<Sorting<'_, T>> {
        self.lock.take(tries, rest).map(|held| Sorting { sorter: self, _held: held })
    }

    /// Forgets everything: the blocks are gone.
    pub(crate) fn clear(&self) {
        self.sealed.clear();
        self.sealed_pages.store(0, Ordering::Relaxed);
        self.outgoing.clear();
    }
}

impl<'s, T: Stored> Sorting<'s, T> {
    /// Moves what was sealed to the queues that `place` says, those for the sinks to the sorter's own.
    pub(crate) fn sort<'q>(&self, place: impl Fn(&T) -> Option<&'q Queue<T>>)
    where
        T: 'q,
    {
        self.sort_each(place, |_| {});
    }

    /// Pins open blocks, into `into`, so that they stay while the caller, a pass, reads them; and sorts, so that
    /// of each lane the sorted ones are the earlier ones. `into` has room for as many as there are lanes.
    pub(crate) fn pin<'q, 'o>(
        &self,
        lanes: impl Iterator<Item = &'o Open<T>>,
        into: &mut Vec<NonNull<T>>,
        place: impl Fn(&T) -> Option<&'q Queue<T>>,
    ) where
        T: 'q + 'o,
    {
        // Before the list is taken: a lane opens a block after it has handed over the one before.
        for block in lanes.filter_map(Open::get) {
            // SAFETY: no block goes back to the pool before it is sorted, for which we have the lock.
            unsafe { block.as_ref() }.pinned().store(true, Ordering::Relaxed);
            into.push(block);
        }
        // What is found in the list, too, is sealed, and is no longer read as an open block.
        self.sort_each(place, |block| block.pinned().store(false, Ordering::Relaxed));
        // SAFETY: as above.
        into.retain(|block| unsafe { block.as_ref() }.pinned().load(Ordering::Relaxed));
    }

    /// Lets a pinned block go.
    pub(crate) fn unpin(&self, block: NonNull<T>) {
        // SAFETY: pinned blocks stay.
        unsafe { block.as_ref() }.pinned().store(false, Ordering::Relaxed);
    }

    /// Those for the sinks.
    pub(crate) fn outgoing(&self) -> &'s Queue<T> {
        &self.sorter.outgoing
    }

    /// Takes the earliest of a queue for the sinks. None behind one that is pinned, which a pass reads as an open
    /// one: later blocks of its lane come later.
    pub(crate) fn next_of(&self, queue: &Queue<T>) -> Option<NonNull<T>> {
        let first = queue.iter().next()?;
        // SAFETY: blocks of a queue stay while they are in it.
        if unsafe { first.as_ref() }.pinned().load(Ordering::Relaxed) { None } else { queue.take() }
    }

    fn sort_each<'q>(&self, place: impl Fn(&T) -> Option<&'q Queue<T>>, found: impl Fn(&T))
    where
        T: 'q,
    {
        let mut next = self.sorter.sealed.take();
        while let Some(block) = NonNull::new(next) {
            // SAFETY: blocks of the list are nobody's but ours now.
            let sealed = unsafe { block.as_ref() };
            next = sealed.next().load(Ordering::Relaxed);
            self.sorter.sealed_pages.fetch_sub(sealed.pages(), Ordering::Relaxed);
            sealed.open().end(block);
            found(sealed);
            place(sealed).unwrap_or(self.outgoing()).push(block);
        }
    }
}

/// Blocks, the earliest first. Used under the sorter's lock only, which makes plain loads and stores do.
pub(crate) struct Queue<T> {
    first: AtomicPtr<T>,
    last: AtomicPtr<T>,
    pages: AtomicUsize,
}

impl<T: Stored> Queue<T> {
    constant! {
        /// An empty one.
        pub(crate) fn new() -> Queue<T> {
            Queue {
                first: AtomicPtr::new(null_mut()),
                last: AtomicPtr::new(null_mut()),
                pages: AtomicUsize::new(0),
            }
        }
    }

    /// Forgets all, whose memory is gone.
    pub(crate) fn clear(&self) {
        self.first.store(null_mut(), Ordering::Relaxed);
        self.last.store(null_mut(), Ordering::Relaxed);
        self.pages.store(0, Ordering::Relaxed);
    }

    /// Pages of its blocks.
    pub(crate) fn pages(&self) -> usize {
        self.pages.load(Ordering::Relaxed)
    }

    fn push(&self, block: NonNull<T>) {
        // SAFETY: the block is sorted by the caller, which owns it.
        let (next, pages) = unsafe { (block.as_ref().next(), block.as_ref().pages()) };
        next.store(null_mut(), Ordering::Relaxed);
        match NonNull::new(self.last.swap(block.as_ptr(), Ordering::Relaxed)) {
            // SAFETY: blocks of a queue stay while they are in it.
            Some(last) => unsafe { last.as_ref() }.next().store(block.as_ptr(), Ordering::Relaxed),
            None => self.first.store(block.as_ptr(), Ordering::Relaxed),
        }
        self.pages.store(self.pages() + pages, Ordering::Relaxed);
    }

    /// All, the earliest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = NonNull<T>> {
        core::iter::successors(NonNull::new(self.first.load(Ordering::Relaxed)), |block| {
            // SAFETY: blocks of a queue stay while they are in it.
            NonNull::new(unsafe { block.as_ref() }.next().load(Ordering::Relaxed))
        })
    }

    /// Takes the earliest that is not pinned.
    pub(crate) fn take(&self) -> Option<NonNull<T>> {
        let mut before: Option<NonNull<T>> = None;
        for block in self.iter() {
            // SAFETY: as above.
            let found = unsafe { block.as_ref() };
            if found.pinned().load(Ordering::Relaxed) {
                before = Some(block);
                continue;
            }
            let next = found.next().load(Ordering::Relaxed);
            match before {
                // SAFETY: as above.
                Some(before) => unsafe { before.as_ref() }.next().store(next, Ordering::Relaxed),
                None => self.first.store(next, Ordering::Relaxed),
            }
            if next.is_null() {
                self.last.store(before.map_or(null_mut(), NonNull::as_ptr), Ordering::Relaxed);
            }
            self.pages.store(self.pages() - found.pages(), Ordering::Relaxed);
            return Some(block);
        }
        None
    }
}
