//! Sealed blocks in the order of their lanes. Lanes hand them over without a lock, and one thread
//! at a time sorts them into queues under a lock.
#![allow(unsafe_code)]

use core::ptr::{NonNull, null_mut};

use crate::sync::list::{Linked, List};
use crate::sync::open::Open;
use crate::sync::spin::{Spin, SpinGuard};
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, constant};

/// A block that can be sorted.
pub(crate) trait Stored: Linked {
    /// Returns the number of its pages.
    fn pages(&self) -> usize;
    /// True while a pass reads the block, which must not go back to the pool. Changed under the
    /// sorter's lock.
    fn pinned(&self) -> &AtomicBool;
    /// Returns the place where the lane records its open block.
    fn open(&self) -> &Open<Self>;
}

/// The sorter of blocks.
pub(crate) struct Sorter<T> {
    lock: Spin,
    /// Blocks that the lanes have handed over.
    sealed: List<T>,
    sealed_pages: AtomicUsize,
    /// Blocks for the sinks. Other rooms own the other queues.
    outgoing: Queue<T>,
}

/// The right to sort.
pub(crate) struct Sorting<'s, T> {
    sorter: &'s Sorter<T>,
    _held: SpinGuard<'s>,
}

impl<T: Stored> Sorter<T> {
    constant! {
        /// Creates a sorter without blocks.
        pub(crate) fn new() -> Sorter<T> {
            Sorter {
                lock: Spin::new(),
                sealed: List::new(),
                sealed_pages: AtomicUsize::new(0),
                outgoing: Queue::new(),
            }
        }
    }

    /// Takes a sealed block from its lane. Returns the number of pages that wait to be sorted.
    ///
    /// # Safety
    /// The caller must own the block, which must stay valid until it is taken from its queue.
    pub(crate) unsafe fn hand_over(&self, block: NonNull<T>) -> usize {
        // SAFETY: the caller owns the block until it is pushed. The lane's record outlives it.
        let (pages, open): (_, *const Open<T>) = unsafe { (block.as_ref().pages(), block.as_ref().open()) };
        let waiting = self.sealed_pages.fetch_add(pages, Ordering::Relaxed) + pages;
        // SAFETY: by the contract of this function.
        unsafe { self.sealed.push(block.as_ptr()) };
        // Not earlier: a sorting thread must find the block in the list, or open, or both.
        // SAFETY: the caller owns the lane.
        unsafe { &*open }.end(block);
        waiting
    }

    /// Takes the lock, for a thread that must not wait for it forever. See [`Spin::lock`].
    pub(crate) fn lock(&self, me: usize) -> Option<Sorting<'_, T>> {
        self.lock.lock(me).ok().map(|held| Sorting { sorter: self, _held: held })
    }

    /// Takes the lock for a pass that does not have it.
    pub(crate) fn wait(&self, me: usize) -> Option<Sorting<'_, T>> {
        self.lock.wait(me).ok().map(|held| Sorting { sorter: self, _held: held })
    }

    /// Forgets everything, because the blocks are gone.
    pub(crate) fn clear(&self) {
        self.sealed.clear();
        self.sealed_pages.store(0, Ordering::Relaxed);
        self.outgoing.clear();
    }
}

impl<'s, T: Stored> Sorting<'s, T> {
    /// Moves each sealed block to the queue that `place` returns, or to the sorter's own for the
    /// sinks.
    pub(crate) fn sort<'q>(&self, place: impl Fn(&T) -> Option<&'q Queue<T>>)
    where
        T: 'q,
    {
        self.sort_each(place, |_| {});
    }

    /// Pins the open blocks into `into`, so that they stay while the caller, a pass, reads them.
    /// Then sorts, so that the sorted blocks of each lane are older than its pinned one. `into` has
    /// room for one block per lane.
    pub(crate) fn pin<'q, 'o>(
        &self,
        lanes: impl Iterator<Item = &'o Open<T>>,
        into: &mut Vec<NonNull<T>>,
        place: impl Fn(&T) -> Option<&'q Queue<T>>,
    ) where
        T: 'q + 'o,
    {
        // Before the list is taken: a lane hands over its block before it opens the next one.
        for block in lanes.filter_map(Open::get) {
            // SAFETY: no block goes back to the pool before it is sorted, and this thread has the
            // lock.
            unsafe { block.as_ref() }.pinned().store(true, Ordering::Relaxed);
            into.push(block);
        }
        // A block that is in the list, too, is sealed, and is no longer read as an open block.
        self.sort_each(place, |block| block.pinned().store(false, Ordering::Relaxed));
        // SAFETY: as above.
        into.retain(|block| unsafe { block.as_ref() }.pinned().load(Ordering::Relaxed));
    }

    /// Sorts a block that the caller has sealed and pinned, and unpins it. All earlier blocks of
    /// its lane must be sorted.
    pub(crate) fn add<'q>(&self, block: NonNull<T>, place: impl Fn(&T) -> Option<&'q Queue<T>>)
    where
        T: 'q,
    {
        // SAFETY: the caller owns the block, and the pool keeps its memory.
        let sealed = unsafe { block.as_ref() };
        sealed.open().end(block);
        sealed.pinned().store(false, Ordering::Relaxed);
        place(sealed).unwrap_or(self.outgoing()).push(block);
    }

    /// Puts a block that the caller owns into a queue, behind its other blocks.
    pub(crate) fn put(&self, block: NonNull<T>, queue: &Queue<T>) {
        queue.push(block);
    }

    /// Unpins a block.
    pub(crate) fn unpin(&self, block: NonNull<T>) {
        // SAFETY: pinned blocks stay.
        unsafe { block.as_ref() }.pinned().store(false, Ordering::Relaxed);
    }

    /// Returns the queue of the blocks for the sinks.
    pub(crate) fn outgoing(&self) -> &'s Queue<T> {
        &self.sorter.outgoing
    }

    /// Takes the earliest block of a queue for the sinks. Returns `None` if a pass has pinned that
    /// block to read it as an open one: later blocks of its lane must come later.
    pub(crate) fn next_of(&self, queue: &Queue<T>) -> Option<NonNull<T>> {
        let first = queue.iter().next()?;
        // SAFETY: a block stays while it is in a queue.
        if unsafe { first.as_ref() }.pinned().load(Ordering::Relaxed) { None } else { queue.take() }
    }

    fn sort_each<'q>(&self, place: impl Fn(&T) -> Option<&'q Queue<T>>, found: impl Fn(&T))
    where
        T: 'q,
    {
        let mut next = self.sorter.sealed.take();
        while let Some(block) = NonNull::new(next) {
            // SAFETY: this thread alone owns the blocks of the list now.
            let sealed = unsafe { block.as_ref() };
            next = sealed.next().load(Ordering::Relaxed);
            self.sorter.sealed_pages.fetch_sub(sealed.pages(), Ordering::Relaxed);
            sealed.open().end(block);
            found(sealed);
            place(sealed).unwrap_or(self.outgoing()).push(block);
        }
    }
}

/// Blocks, the earliest first. Used only under the sorter's lock, so plain loads and stores
/// suffice.
pub(crate) struct Queue<T> {
    first: AtomicPtr<T>,
    last: AtomicPtr<T>,
    pages: AtomicUsize,
}

impl<T: Stored> Queue<T> {
    constant! {
        /// Creates an empty queue.
        pub(crate) fn new() -> Queue<T> {
            Queue {
                first: AtomicPtr::new(null_mut()),
                last: AtomicPtr::new(null_mut()),
                pages: AtomicUsize::new(0),
            }
        }
    }

    /// Forgets all blocks, because their memory is gone.
    pub(crate) fn clear(&self) {
        self.first.store(null_mut(), Ordering::Relaxed);
        self.last.store(null_mut(), Ordering::Relaxed);
        self.pages.store(0, Ordering::Relaxed);
    }

    /// Returns the number of pages of its blocks.
    pub(crate) fn pages(&self) -> usize {
        self.pages.load(Ordering::Relaxed)
    }

    fn push(&self, block: NonNull<T>) {
        // SAFETY: the caller owns the block and sorts it.
        let (next, pages) = unsafe { (block.as_ref().next(), block.as_ref().pages()) };
        next.store(null_mut(), Ordering::Relaxed);
        match NonNull::new(self.last.swap(block.as_ptr(), Ordering::Relaxed)) {
            // SAFETY: a block stays while it is in a queue.
            Some(last) => unsafe { last.as_ref() }.next().store(block.as_ptr(), Ordering::Relaxed),
            None => self.first.store(block.as_ptr(), Ordering::Relaxed),
        }
        self.pages.store(self.pages() + pages, Ordering::Relaxed);
    }

    /// Returns all blocks, the earliest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = NonNull<T>> {
        core::iter::successors(NonNull::new(self.first.load(Ordering::Relaxed)), |block| {
            // SAFETY: a block stays while it is in a queue.
            NonNull::new(unsafe { block.as_ref() }.next().load(Ordering::Relaxed))
        })
    }

    /// Takes the earliest block that is not pinned.
    pub(crate) fn take(&self) -> Option<NonNull<T>> {
        self.take_if(true, |_| true)
    }

    /// Takes the earliest block that is not pinned and that `may_go` allows. Without `past_pinned`
    /// it takes none after a pinned block, so that no block passes an older one.
    pub(crate) fn take_if(&self, past_pinned: bool, may_go: impl Fn(&T) -> bool) -> Option<NonNull<T>> {
        let mut before: Option<NonNull<T>> = None;
        for block in self.iter() {
            // SAFETY: as above.
            let found = unsafe { block.as_ref() };
            let is_pinned = found.pinned().load(Ordering::Relaxed);
            if is_pinned && !past_pinned {
                return None;
            }
            if is_pinned || !may_go(found) {
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
