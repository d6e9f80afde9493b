//! Sealed blocks in memory: those on their way to the sinks, and those that the flight recorder
//! retains for each kind. Blocks of the runtime's own registry wait apart until the program has
//! begun a stream. Until then they are retained as if by the flight recorder.
//!
//! Lanes hand their blocks over without a lock. A pass of the drain needs them in order, and so
//! does a lane that finds the pool dry. Both sort them under a lock for a moment.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use std::collections::BTreeSet;

use crate::memory::block::{Block, PAGE, Room};
#[cfg(all(unix, not(miri)))]
use crate::memory::lanes::LANES;
use crate::memory::pool::{self, POOL};
use crate::memory::record::{LaneRecord, Owner};
use crate::memory::registry;
use crate::run::clock;
use crate::run::state;
use crate::run::state::Policy;
use crate::run::wake::wake;
use crate::sync::open::Open;
use crate::sync::pages::CHUNK_PAGES;
use crate::sync::sorter::{Queue, Sorter, Sorting, Stored};
use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};

/// Sealed blocks. Each kind has its own queue for the flight recorder.
pub(crate) struct Store {
    sorter: Sorter<Block>,
    /// Blocks of the runtime's own registry for the sinks.
    own: Queue<Block>,
    /// True if there is a stream for these blocks.
    has_stream: AtomicBool,
    /// True while a snapshot has blocks pinned, so that there may be nothing to evict.
    is_copied: AtomicBool,
}

/// The store of the process.
pub(crate) static STORE: Store = Store::new();

/// Number of waiting pages that makes waking the drain worthwhile: large writes are cheap.
const WAKE_PAGES: usize = (1 << 20) / PAGE;
/// Maximum number of blocks that are evicted or overwritten for one new block.
const MAX_VICTIMS: usize = 64;

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
        Store {
            sorter: Sorter::new(),
            own: Queue::new(),
            has_stream: AtomicBool::new(false),
            is_copied: AtomicBool::new(false),
        }
    }

    /// Takes a sealed block from its lane.
    pub(crate) fn hand_over(&self, block: NonNull<Block>) {
        // SAFETY: the caller owns the block, and the pool keeps its memory.
        let waiting = unsafe { self.sorter.hand_over(block) };
        if waiting >= WAKE_PAGES.min(POOL.bytes() / PAGE / 4) {
            wake();
        }
    }

    /// Sorts the sealed blocks, and pins the open blocks of the records into `open`. Pinned blocks
    /// stay while the caller, a pass, reads them. The sorted blocks of each lane are older than its
    /// open one.
    pub(crate) fn sort(&self, records: &[&LaneRecord], open: &mut Vec<NonNull<Block>>) {
        open.reserve(records.len());
        let Some(sorting) = self.sorter.wait(sys::me()) else { return };
        sorting.pin(records.iter().map(|record| &record.open), open, place);
    }

    /// Seals and unpins open blocks that the caller, a pass, has pinned, and whose lanes are
    /// stopped. Blocks that the lane has sealed or left meanwhile stay in `open`.
    pub(crate) fn seal(&self, stopped: &[NonNull<Block>], open: &mut Vec<NonNull<Block>>) {
        let Some(sorting) = self.sorter.wait(sys::me()) else { return };
        let mut sealed = BTreeSet::new();
        for &block in stopped {
            // SAFETY: the block is pinned.
            let inside = unsafe { block.as_ref() };
            let record = inside.record();
            // Before the claim: the lane opens its next block after it.
            let now = clock::ticks_after_loads();
            if record.turn.claim(inside.seq()) {
                let (len, events) = inside.committed();
                inside.set_end_ticks(now);
                record.count_sealed(inside.before() + u64::from(events));
                pool::give_tail(inside, len as usize);
                // Not through the list of handed-over blocks, where the lane's next block could
                // come first.
                sorting.add(block, place);
                sealed.insert(block);
            }
        }
        open.retain(|block| !sealed.contains(block));
    }

    /// Returns the number of pages that lanes could get: the free ones, and those that can be
    /// evicted.
    pub(crate) fn available(&self) -> usize {
        POOL.free_pages() + registry::kinds().map(|kind| kind.kept.pages()).sum::<usize>()
    }

    /// Returns true if lanes should return what they do not need. Most of the pool is then in open
    /// blocks, or waits for sinks.
    pub(crate) fn is_short(&self) -> bool {
        self.available() < POOL.bytes() / PAGE / 4
    }

    /// Returns true if lanes may soon get no memory at all.
    pub(crate) fn is_nearly_dry(&self) -> bool {
        self.available() < POOL.bytes() / PAGE / 8
    }

    /// Does the same as [`Store::sort`], and also pins all sealed blocks into `sealed`, for a
    /// snapshot. The earliest block of each lane comes first.
    pub(crate) fn pin_all(
        &self,
        records: &[&LaneRecord],
        open: &mut Vec<NonNull<Block>>,
        sealed: &mut Vec<NonNull<Block>>,
    ) {
        open.reserve(records.len());
        sealed.reserve(POOL.bytes() / PAGE);
        let Some(sorting) = self.sorter.wait(sys::me()) else { return };
        sorting.pin(records.iter().map(|record| &record.open), open, place);
        let queues = registry::kinds().map(|kind| &kind.kept).chain([sorting.outgoing(), &self.own]);
        for block in queues.flat_map(Queue::iter) {
            // SAFETY: a block stays while it is in a queue.
            unsafe { block.as_ref() }.pinned.store(true, Ordering::Relaxed);
            sealed.push(block);
        }
    }

    /// Unpins what [`Store::sort`] or [`Store::pin_all`] has pinned.
    pub(crate) fn unpin(&self, blocks: &[NonNull<Block>]) {
        let Some(sorting) = self.sorter.wait(sys::me()) else { return };
        blocks.iter().for_each(|&block| sorting.unpin(block));
    }

    /// Takes the program's next blocks for the sinks, the earliest first. The caller, a pass, then
    /// owns them. Takes a limited number of pages, since no lane can reclaim the blocks of a pass.
    pub(crate) fn outgoing(&self, into: &mut Vec<NonNull<Block>>, most: usize) {
        self.next(into, most, |sorting| sorting.outgoing());
    }

    /// Takes the next blocks of the runtime's own registry. There must be a stream for them.
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
        let Some(sorting) = self.sorter.wait(sys::me()) else { return };
        let mut pages = 0;
        while into.len() < most
            && pages < most_pages
            && let Some(block) = sorting.next_of(queue(&sorting))
        {
            // SAFETY: the caller owns the block now.
            pages += unsafe { block.as_ref() }.pages();
            into.push(block);
        }
    }

    /// Gives a sorted block to the flight recorder, which the caller, a pass, has taken. Its lane's
    /// earlier blocks must be there, or gone. Returns false if it cannot.
    pub(crate) fn keep(&self, block: NonNull<Block>) -> bool {
        // SAFETY: the caller owns the block.
        let owner = unsafe { block.as_ref() }.record().owner();
        let Some(sorting) = self.sorter.wait(sys::me()) else { return false };
        sorting.put(block, &owner.registry.kind(owner.kind).kept);
        true
    }

    /// Sets whether there is a stream for the blocks of the runtime's own registry.
    pub(crate) fn set_stream(&self, is_there: bool) {
        self.has_stream.store(is_there, Ordering::Relaxed);
    }

    /// Sets whether a snapshot has blocks pinned.
    pub(crate) fn set_copied(&self, is_copied: bool) {
        self.is_copied.store(is_copied, Ordering::Relaxed);
    }

    /// Returns true while a snapshot has blocks pinned.
    pub(crate) fn is_copied(&self) -> bool {
        self.is_copied.load(Ordering::Relaxed)
    }

    /// Makes the flight recorder evict its oldest blocks until this number of pages is free, so
    /// that lanes rarely have to evict any.
    pub(crate) fn trim(&self, pages: usize) {
        while POOL.free_pages() < pages {
            let Some(_sorting) = self.sorter.lock(sys::me()) else { return };
            let Some(block) = self.oldest_kept() else { return };
            settle(block, Untaken::Evicted);
        }
    }

    /// Reclaims memory for a lane that finds the pool dry. Evicts the flight recorder's oldest
    /// blocks first. If the policy allows it, then overwrites blocks that no sink has taken.
    pub(crate) fn reclaim(&self, least: usize, wish: usize) -> Option<Room> {
        let sorting = self.sorter.lock(sys::me())?;
        sorting.sort(place);
        for _ in 0..MAX_VICTIMS {
            match self.oldest_kept() {
                Some(block) => settle(block, Untaken::Evicted),
                None if state::policy() == Policy::OverwriteOldest => {
                    let block = sorting.outgoing().take().or_else(|| self.own.take())?;
                    settle(block, Untaken::Overwritten);
                }
                None => return None,
            }
            if let Some(found) = pool::take(least, wish) {
                return Some(found);
            }
        }
        None
    }

    /// Returns the number of events that a lane has recorded: those in sealed blocks, and the
    /// committed ones in the open block. The latter are added to the count when that block was
    /// opened. So the events of a block that is being sealed are not counted twice.
    pub(crate) fn events(&self, record: &LaneRecord) -> u64 {
        let open = record.open.get().and_then(|_| self.committed(record));
        // Acquire, after the check for an open block: a block that has ended is among the sealed
        // ones.
        open.unwrap_or_else(|| record.account().recorded.load(Ordering::Acquire))
    }

    /// Returns the number of a lane's events up to the last committed one in its open block.
    /// Returns `None` without such a block, or if the lock is not free soon.
    fn committed(&self, record: &LaneRecord) -> Option<u64> {
        let _sorting = self.sorter.lock(sys::me())?;
        // SAFETY: no block goes back to the pool before it is sorted, and this thread has the lock.
        let open = unsafe { record.open.get()?.as_ref() };
        Some(open.before() + u64::from(open.committed().1))
    }

    /// Returns the number of pages in open blocks, or `None` if the lock is not free soon.
    #[cfg(all(unix, not(miri)))]
    pub(crate) fn open_pages(&self) -> Option<usize> {
        let sorting = self.sorter.lock(sys::me())?;
        // A sealed block is not open any more.
        sorting.sort(place);
        let open = LANES.taken().filter_map(|record| record.open.get());
        // SAFETY: no block goes back to the pool before it is sorted, and this thread has the lock.
        Some(open.map(|block| unsafe { block.as_ref() }.pages()).sum())
    }

    /// Takes the lock, before a fork.
    pub(crate) fn hold(&self) -> Option<Sorting<'_, Block>> {
        self.sorter.lock(sys::me())
    }

    /// Forgets everything: the blocks are gone, and the streams belong to another process.
    pub(crate) fn clear(&self) {
        self.sorter.clear();
        self.own.clear();
        self.has_stream.store(false, Ordering::Relaxed);
        self.is_copied.store(false, Ordering::Relaxed);
    }

    /// Takes the oldest block of the kind with the most retained pages, so that rare kinds outlive
    /// frequent ones. The runtime's own registry counts as one kind while there is no stream for
    /// it.
    fn oldest_kept(&self) -> Option<NonNull<Block>> {
        let own = (!self.has_stream.load(Ordering::Relaxed)).then_some(&self.own);
        let queues = || registry::kinds().map(|kind| &kind.kept).chain(own);
        // The latest events of a lane stay until the lane has later ones.
        let take = |queue: &Queue<Block>| {
            queue.take_if(!self.is_copied(), |block| !block.record().turn.is_latest(block.seq()))
        };
        // A snapshot may have pinned all blocks of the largest queue.
        queues().max_by_key(|queue| queue.pages()).and_then(take).or_else(|| queues().find_map(take))
    }
}

/// Returns the queue of a sealed block. A retained block goes to its kind's queue, and one of the
/// runtime's own registry to its queue for the sinks. `None` is the program's queue for the sinks.
fn place(sealed: &Block) -> Option<&'static Queue<Block>> {
    let Owner { registry, kind, .. } = sealed.record().owner();
    match registry.is_output(kind, sealed.base_ticks()) {
        false => Some(&registry.kind(kind).kept),
        true => registry.is_own().then_some(&STORE.own),
    }
}

/// What happened to the events of a block that no sink has taken, once the block goes back to the
/// pool.
#[derive(Clone, Copy)]
pub(crate) enum Untaken {
    /// Evicted by the flight recorder, or of a kind that no sink gets.
    Evicted,
    /// Lost: a sink was to get them.
    Lost,
    /// Lost, and no sink has counted them yet.
    Overwritten,
}

/// Counts where the events of a sorted block went, and returns the block to the pool. The caller
/// owns it.
///
/// The counters come first. If the process is killed in between, its memory contains the block or
/// counts it.
pub(crate) fn settle(block: NonNull<Block>, untaken: Untaken) {
    // SAFETY: the caller owns the block.
    let inside = unsafe { block.as_ref() };
    let (record, pages) = (inside.record(), inside.pages());
    let (owner, account) = (record.owner(), record.account());
    let (_, events) = inside.committed();
    let taken = inside.taken();
    let rest = u64::from(events).saturating_sub(taken);
    account.written.fetch_add(taken, Ordering::Relaxed);
    match untaken {
        Untaken::Evicted => {
            account.evicted.fetch_add(rest, Ordering::Relaxed);
            owner.registry.kind(owner.kind).evicted.fetch_add(rest, Ordering::Relaxed);
        }
        Untaken::Lost => _ = account.sink.fetch_add(rest, Ordering::Relaxed),
        Untaken::Overwritten => {
            account.sink.fetch_add(rest, Ordering::Relaxed);
            record.overwritten.fetch_add(rest, Ordering::Relaxed);
        }
    }
    // Release in both: the next owner of the pages, or the thread that frees the record, sees all
    // that was done to the block.
    POOL.give(inside.head().cast(), pages);
    record.blocks.fetch_sub(1, Ordering::Release);
}
