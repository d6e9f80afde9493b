//! Sealed blocks in memory: those on their way to the sinks, and of every kind those that the flight
//! recorder keeps. What the runtime itself has to say waits apart until the program has begun a stream, and is kept
//! as by the flight recorder until then.
//!
//! Lanes hand their blocks over without a lock. Who needs order among them, a pass of the drain or a lane
//! that finds the pool dry, sorts them under a lock for moments.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::block::{Block, PAGE};
use crate::drain;
use crate::open::Open;
use crate::pages::CHUNK_PAGES;
use crate::pool::{self, POOL};
use crate::record::{LaneRecord, Owner};
use crate::registry;
use crate::sorter::{Queue, Sorter, Sorting, Stored};
use crate::start::{self, Policy};
use crate::sync::{AtomicBool, Ordering};
use crate::sys;

/// Sealed blocks. Those for the flight recorder are with their kinds.
pub(crate) struct Store {
    sorter: Sorter<Block>,
    /// Those of the runtime's own registry for the sinks.
    own: Queue<Block>,
    /// There is a stream that these can go to.
    has_stream: AtomicBool,
}

/// The store of the process.
pub(crate) static STORE: Store = Store::new();

/// Pages worth waking the drain for: large writes are cheap ones.
const WORTH: usize = (1 << 20) / PAGE;
/// Most blocks that are given up for one that is wanted.
const MOST_VICTIMS: usize = 64;
/// Tries of a lane for the lock, and of a pass.
const FEW: u32 = 4 << 10;
const MANY: u32 = 1 << 28;

impl Stored for Block {
    fn pages(&self) -> usize {
        Block::pages(self)
    }

    fn pinned(&self) -> &AtomicBool {
        &self.pinned
    }

    fn open(&self) -> &Open<Block> {
        &self.record().open
    }
}

impl Store {
    const fn new() -> Store {
        Store { sorter: Sorter::new(), own: Queue::new(), has_stream: AtomicBool::new(false) }
    }

    /// Takes a block from a lane that is done with it.
    pub(crate) fn hand_over(&self, block: NonNull<Block>) {
        // SAFETY: the block is the caller's, and its memory is the pool's, which stays.
        let waiting = unsafe { self.sorter.hand_over(block) };
        if waiting >= WORTH.min(POOL.bytes() / PAGE / 4) {
            drain::wake();
        }
    }

    /// Sorts what was sealed, and pins the open blocks of the records, into `open`, so that they stay while
    /// the caller, a pass, reads them. Of each lane the sorted ones are the earlier ones.
    pub(crate) fn sort(&self, records: &[&LaneRecord], open: &mut Vec<NonNull<Block>>) {
        open.reserve(records.len());
        let Some(sorting) = self.sorter.lock(MANY, sys::yield_now) else { return };
        sorting.pin(records.iter().map(|record| &record.open), open, place);
    }

    /// As [`Store::sort`], and pins all blocks in memory that are sealed, the earliest of each lane first, into
    /// `sealed`, for a snapshot.
    pub(crate) fn pin_all(
        &self,
        records: &[&LaneRecord],
        open: &mut Vec<NonNull<Block>>,
        sealed: &mut Vec<NonNull<Block>>,
    ) {
        open.reserve(records.len());
        sealed.reserve(POOL.bytes() / PAGE);
        let Some(sorting) = self.sorter.lock(MANY, sys::yield_now) else { return };
        sorting.pin(records.iter().map(|record| &record.open), open, place);
        let queues = registry::kinds().map(|kind| &kind.kept).chain([sorting.outgoing(), &self.own]);
        for block in queues.flat_map(Queue::iter) {
            // SAFETY: blocks of a queue stay while they are in it.
            unsafe { block.as_ref() }.pinned.store(true, Ordering::Relaxed);
            sealed.push(block);
        }
    }

    /// Lets go what [`Store::sort`] or [`Store::pin_all`] pinned.
    pub(crate) fn unpin(&self, blocks: &[NonNull<Block>]) {
        let Some(sorting) = self.sorter.lock(MANY, sys::yield_now) else { return };
        blocks.iter().for_each(|&block| sorting.unpin(block));
    }

    /// The next blocks of the program for the sinks, the earliest first; they are the caller's, a pass's. Not many
    /// pages at a time: what a pass has, no lane can take back.
    pub(crate) fn outgoing(&self, into: &mut Vec<NonNull<Block>>, most: usize) {
        self.next(into, most, |sorting| sorting.outgoing());
    }

    /// The same of the runtime itself, for which there must be a stream.
    pub(crate) fn own_outgoing(&self, into: &mut Vec<NonNull<Block>>, most: usize) {
        self.next(into, most, |_| &self.own);
    }

    fn next<'s>(
        &'s self,
        into: &mut Vec<NonNull<Block>>,
        most: usize,
        queue: impl Fn(&Sorting<'s, Block>) -> &'s Queue<Block>,
    ) {
        let most_pages = (POOL.bytes() / PAGE / 4).max(CHUNK_PAGES);
        let Some(sorting) = self.sorter.lock(MANY, sys::yield_now) else { return };
        let mut pages = 0;
        while into.len() < most
            && pages < most_pages
            && let Some(block) = sorting.next_of(queue(&sorting))
        {
            // SAFETY: the block is the caller's now.
            pages += unsafe { block.as_ref() }.pages();
            into.push(block);
        }
    }

    /// Says whether there is a stream that what the runtime has to say can go to.
    pub(crate) fn set_stream(&self, is_there: bool) {
        self.has_stream.store(is_there, Ordering::Relaxed);
    }

    /// Has the flight recorder give up its oldest blocks until so many pages are free, so that lanes rarely
    /// need to ask it.
    pub(crate) fn trim(&self, pages: usize) {
        while POOL.free_pages() < pages {
            let Some(_sorting) = self.sorter.lock(FEW, sys::yield_now) else { return };
            let Some(block) = self.oldest_kept() else { return };
            forget(block);
        }
    }

    /// Memory for a lane that finds the pool dry: of the flight recorder's oldest blocks, and if the policy
    /// says so, of those that no sink has taken yet.
    pub(crate) fn reclaim(&self, least: usize, wish: usize) -> Option<(*mut u8, usize)> {
        let sorting = self.sorter.lock(FEW, sys::yield_now)?;
        sorting.sort(place);
        for _ in 0..MOST_VICTIMS {
            match self.oldest_kept() {
                Some(block) => forget(block),
                None if start::policy() == Policy::OverwriteOldest => {
                    overwrite(sorting.outgoing().take().or_else(|| self.own.take())?);
                }
                None => return None,
            }
            if let Some(found) = pool::take(least, wish) {
                return Some(found);
            }
        }
        None
    }

    /// Events of a lane up to the last one committed in its open block. None without one, or if the lock cannot
    /// be had soon.
    pub(crate) fn committed(&self, record: &LaneRecord) -> Option<u64> {
        let _sorting = self.sorter.lock(MANY >> 8, sys::yield_now)?;
        // SAFETY: no block goes back to the pool before it is sorted, for which we have the lock.
        let open = unsafe { record.open.get()?.as_ref() };
        Some(open.header().before + u64::from(open.state.committed().1))
    }

    /// The lock, for a fork.
    pub(crate) fn hold(&self) -> Option<Sorting<'_, Block>> {
        self.sorter.lock(MANY, sys::yield_now)
    }

    /// Forgets everything: the blocks are gone, and the streams another process's.
    pub(crate) fn clear(&self) {
        self.sorter.clear();
        self.own.clear();
        self.has_stream.store(false, Ordering::Relaxed);
    }

    /// The oldest block of the kind that keeps most, so that rare kinds outlive frequent ones. All that the runtime
    /// has to say counts as one while there is no stream for it.
    fn oldest_kept(&self) -> Option<NonNull<Block>> {
        let own = (!self.has_stream.load(Ordering::Relaxed)).then_some(&self.own);
        let queues = || registry::kinds().map(|kind| &kind.kept).chain(own);
        // A snapshot may have all of those pinned.
        queues().max_by_key(|queue| queue.pages())?.take().or_else(|| queues().find_map(Queue::take))
    }
}

/// The queue of a sealed block: its kind's in the flight recorder, the runtime's own for the sinks, or none, which is
/// the program's for them.
fn place(sealed: &Block) -> Option<&'static Queue<Block>> {
    let Owner { registry, kind, .. } = sealed.record().owner();
    match registry.is_output(kind, sealed.base_ticks()) {
        false => Some(&registry.kind(kind).kept),
        true => registry.is_own().then_some(&STORE.own),
    }
}

/// Gives a block that was sorted back to the pool. It is the caller's.
pub(crate) fn give_back(block: NonNull<Block>) {
    // SAFETY: the block is the caller's.
    let (record, pages) = unsafe { (block.as_ref().record(), block.as_ref().pages()) };
    POOL.give(block.as_ptr().cast(), pages);
    // Release: whoever frees the record sees all that was done to the block.
    record.blocks.fetch_sub(1, Ordering::Release);
}

/// Events of a block that no sink has taken.
pub(crate) fn untaken(block: &Block) -> u64 {
    let (_, events) = block.state.committed();
    u64::from(events) - block.taken.load(Ordering::Relaxed)
}

fn forget(block: NonNull<Block>) {
    // SAFETY: the block is out of its queue, and so ours.
    let kept = unsafe { block.as_ref() };
    let owner = kept.record().owner();
    owner.registry.kind(owner.kind).recycled.fetch_add(untaken(kept), Ordering::Relaxed);
    give_back(block);
}

fn overwrite(block: NonNull<Block>) {
    // SAFETY: as above.
    let outgoing = unsafe { block.as_ref() };
    let lost = untaken(outgoing);
    outgoing.record().sink.fetch_add(lost, Ordering::Relaxed);
    outgoing.record().overwritten.fetch_add(lost, Ordering::Relaxed);
    give_back(block);
}
