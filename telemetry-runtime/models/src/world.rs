//! The common part of the models of blocks. It has a pool of a few pages, lanes that write blocks
//! of one page, and passes that read them.

use std::ptr::NonNull;
use std::sync::Arc;

use loom::cell::{Cell, UnsafeCell};
use telemetry_format::state;

use crate::sync::gate::{self, Gate};
use crate::sync::list::Linked;
use crate::sync::open::Open;
use crate::sync::pages::{self, CHUNK_PAGES};
use crate::sync::publish::State;
use crate::sync::sorter::{Queue, Sorter, Sorting, Stored};
use crate::sync::status::Status;
use crate::sync::turn::Turn;
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU64, Ordering};

/// Maximum number of events in a block.
const ROOM: usize = 2;

/// All shared data. Lives as long as the threads that use it.
pub(crate) struct World {
    pub(crate) sorter: Sorter<Block>,
    /// Blocks that are output apart, once there is a stream for them. Until then they may be
    /// evicted.
    own: Queue<Block>,
    has_stream: AtomicBool,
    pub(crate) lanes: Vec<Lane>,
    /// A bit of the mask that emitters test.
    pub(crate) is_on: AtomicBool,
    map: AtomicU16,
    blocks: Vec<Block>,
}

/// A lane's record.
pub(crate) struct Lane {
    /// True if its blocks are output apart.
    is_own: bool,
    pub(crate) status: Status,
    pub(crate) open: Open<Block>,
    /// Number of events that were evicted or overwritten before a sink took them.
    pub(crate) overwritten: AtomicU64,
    /// Number of events whose emitters have returned.
    pub(crate) emitted: AtomicU64,
    pub(crate) gate: Gate<u8>,
    turn: Turn,
}

/// A block of one page.
pub(crate) struct Block {
    state: State,
    next: AtomicPtr<Block>,
    pinned: AtomicBool,
    /// Number of events that the sink has taken.
    taken: AtomicU64,
    /// Written when the block is opened: its lane, its number, and the number of the lane's earlier
    /// events.
    header: UnsafeCell<(*const Lane, u32, u64)>,
    events: [UnsafeCell<u64>; ROOM],
}

impl Linked for Block {
    fn next(&self) -> &AtomicPtr<Block> {
        &self.next
    }
}

impl Stored for Block {
    fn pages(&self) -> usize {
        1
    }

    fn pinned(&self) -> &AtomicBool {
        &self.pinned
    }

    fn open(&self) -> &Open<Block> {
        &self.lane().open
    }
}

impl Block {
    fn lane(&self) -> &Lane {
        // SAFETY: loom reports if it is being written, and lanes live as long as the world.
        unsafe { &*self.header.with(|header| (*header).0) }
    }

    fn seq(&self) -> u32 {
        // SAFETY: as above.
        self.header.with(|header| unsafe { (*header).1 })
    }

    fn before(&self) -> u64 {
        // SAFETY: as above.
        self.header.with(|header| unsafe { (*header).2 })
    }
}

// SAFETY: fields that are not atomic are in cells that loom checks.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    /// Creates a world with a number of pages and of lanes without blocks.
    pub(crate) fn new(pages: usize, lanes: usize) -> Arc<World> {
        World::with(pages, vec![false; lanes])
    }

    /// Creates a world in which some lanes are output apart, and there is no stream for those yet.
    pub(crate) fn with(pages: usize, is_own: Vec<bool>) -> Arc<World> {
        let block = || Block {
            state: State::new(),
            next: AtomicPtr::new(std::ptr::null_mut()),
            pinned: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            header: UnsafeCell::new((std::ptr::null(), 0, 0)),
            events: [(); ROOM].map(|()| UnsafeCell::new(u64::MAX)),
        };
        let lane = |is_own| Lane {
            is_own,
            status: Status::new(),
            open: Open::new(),
            overwritten: AtomicU64::new(0),
            emitted: AtomicU64::new(0),
            gate: Gate::new(),
            turn: Turn::new(),
        };
        Arc::new(World {
            sorter: Sorter::new(),
            own: Queue::new(),
            has_stream: AtomicBool::new(false),
            lanes: is_own.into_iter().map(lane).collect(),
            is_on: AtomicBool::new(true),
            map: AtomicU16::new(u16::MAX << pages),
            blocks: (0..CHUNK_PAGES.min(pages)).map(|_| block()).collect(),
        })
    }

    /// Takes the sorter's lock, which becomes free sooner or later.
    pub(crate) fn lock(&self) -> Sorting<'_, Block> {
        self.sorter.wait(crate::sys::me()).expect("a lock that is held for moments")
    }

    pub(crate) fn give_back(&self, block: NonNull<Block>) {
        let page = self.blocks.iter().position(|known| std::ptr::eq(known, block.as_ptr())).expect("a block");
        pages::give(&self.map, page, 1);
    }

    /// The same as `place` of the store. All events are output.
    pub(crate) fn place(&self, block: &Block) -> Option<&Queue<Block>> {
        block.lane().is_own.then_some(&self.own)
    }
}

/// The data of a lane's thread.
pub(crate) struct Writer {
    pub(crate) world: Arc<World>,
    lane: usize,
    block: Option<NonNull<Block>>,
    /// The number of the next block, and the number of events in blocks before the open one.
    seq: u32,
    before: u64,
    /// The number of the next event.
    pub(crate) number: u64,
    /// True if it overwrites blocks that no sink has taken when there is no memory; otherwise it
    /// waits.
    overwrites: bool,
}

/// Returns the address in the gate with this number of events in the block.
fn place(events: usize) -> *mut u8 {
    std::ptr::without_provenance_mut(events)
}

impl Writer {
    pub(crate) fn new(world: &Arc<World>, lane: usize, overwrites: bool) -> Writer {
        world.lanes[lane].status.claim();
        world.lanes[lane].status.live();
        Writer { world: world.clone(), lane, block: None, seq: 0, before: 0, number: 0, overwrites }
    }

    fn lane(&self) -> &Lane {
        &self.world.lanes[self.lane]
    }

    /// Returns the number of events in the open block, by the data of the lane alone.
    fn len(&self) -> usize {
        gate::unmarked(self.lane().gate.at()).addr()
    }

    /// The same as `record`, `record_long` and `refill`: emits the next event. Returns false if
    /// there is no memory for it.
    pub(crate) fn emit(&mut self) -> bool {
        assert!(self.lane().gate.enter(), "a thread is inside once");
        let at = self.lane().gate.at();
        let is_full = self.block.is_none() || gate::is_marked(at) || at.addr() == ROOM;
        let has_room = !is_full || self.refill();
        if has_room {
            // SAFETY: the lane owns the block while its thread is inside.
            let block = unsafe { self.block.expect("refilled").as_ref() };
            let len = self.len();
            // SAFETY: loom reports if it is being read.
            block.events[len].with_mut(|event| unsafe { *event = self.number });
            self.number += 1;
            self.lane().gate.set(place(len + 1));
            block.state.publish(state::pack(len as u32 + 1, len as u32 + 1));
            self.lane().emitted.store(self.number, Ordering::Release);
        }
        if is_full {
            self.lane().turn.set_refilling(false);
        }
        self.lane().gate.leave(has_room)
    }

    fn refill(&mut self) -> bool {
        self.lane().turn.set_refilling(true);
        let page = pages::take(&self.world.map, 1);
        self.seal();
        let page = page.or_else(|| self.overwrites.then(|| self.reclaim()).flatten());
        let Some(page) = page else { return false };
        let block = &self.world.blocks[page];
        // SAFETY: this thread owns the page; loom reports if another thread still uses it.
        block.header.with_mut(|header| unsafe { *header = (self.lane(), self.seq, self.before) });
        self.seq += 1;
        block.events.iter().for_each(|event| event.with_mut(|event| unsafe { *event = u64::MAX }));
        block.state.publish(0);
        block.pinned.store(false, Ordering::Relaxed);
        block.taken.store(0, Ordering::Relaxed);
        let block = NonNull::from(block);
        self.block = Some(block);
        self.lane().gate.set(place(0));
        self.lane().open.set(block);
        true
    }

    /// The same as `Store::reclaim` if the oldest block is overwritten, or evicted by the flight
    /// recorder.
    fn reclaim(&self) -> Option<usize> {
        let sorting = self.world.lock();
        sorting.sort(|block| self.world.place(block));
        let own = (!self.world.has_stream.load(Ordering::Relaxed)).then_some(&self.world.own);
        let take =
            |queue: &Queue<Block>| queue.take_if(true, |block| !block.lane().turn.is_latest(block.seq()));
        let victim = own.and_then(take).or_else(|| take(sorting.outgoing()))?;
        // SAFETY: the block is not in its queue any more, so this thread owns it.
        let block = unsafe { victim.as_ref() };
        let (_, events) = block.state.committed();
        let end = block.before() + u64::from(events);
        let emitted = block.lane().emitted.load(Ordering::Acquire);
        assert!(
            end < emitted || block.lane().status.is_closed(),
            "the latest of {emitted} events were given up"
        );
        let untaken = u64::from(events) - block.taken.load(Ordering::Relaxed);
        block.lane().overwritten.fetch_add(untaken, Ordering::Relaxed);
        self.world.give_back(victim);
        pages::take(&self.world.map, 1)
    }

    /// The same as `seal`.
    fn seal(&mut self) {
        let Some(block) = self.block.take() else { return };
        self.before += self.len() as u64;
        self.lane().gate.set(place(0));
        // If the drain was first, the block may be another lane's by now.
        if self.lane().turn.claim(self.seq - 1) {
            // SAFETY: this thread owns the block until it hands it over, and the world keeps its
            // memory.
            unsafe { self.world.sorter.hand_over(block) };
        }
    }

    /// The same as the end of a thread.
    pub(crate) fn close(mut self) {
        assert!(self.lane().gate.enter(), "a thread is inside once");
        self.seal();
        self.lane().gate.leave(());
        self.lane().status.close();
    }
}

/// What a sink was given, by lane.
pub(crate) struct Reader {
    world: Arc<World>,
    pub(crate) lanes: Vec<Given>,
}

/// What a sink was given of one lane.
#[derive(Default)]
pub(crate) struct Given {
    /// All events below this number were given or overwritten.
    pub(crate) next: u64,
    /// Number of events that were given.
    pub(crate) events: u64,
}

impl Reader {
    pub(crate) fn new(world: &Arc<World>) -> Reader {
        Reader { world: world.clone(), lanes: world.lanes.iter().map(|_| Given::default()).collect() }
    }

    /// The same as `Outputs::pass` with a sweep, if there is a stream for what is output apart.
    pub(crate) fn pass(&mut self) {
        self.world.has_stream.store(true, Ordering::Relaxed);
        self.pass_of(true);
    }

    /// The same without such a stream.
    pub(crate) fn pass_without_a_stream(&mut self) {
        self.pass_of(false);
    }

    /// The same as [`Reader::pass`], and seals open blocks. A lane is stopped if `is_stopped`
    /// returns true.
    pub(crate) fn pass_that_seals(&mut self, is_stopped: impl Fn(&Gate<u8>) -> bool) {
        self.world.has_stream.store(true, Ordering::Relaxed);
        let world = self.world.clone();
        let mut open = Vec::with_capacity(world.lanes.len());
        world.lock().pin(world.lanes.iter().map(|lane| &lane.open), &mut open, |block| world.place(block));
        // SAFETY: the blocks are pinned.
        let lane = |block: &NonNull<Block>| unsafe { block.as_ref() }.lane();
        open.iter().for_each(|block| lane(block).gate.mark());
        // The system's barrier.
        crate::sys::atomic::compiler_fence(Ordering::SeqCst);
        let stopped: Vec<_> = open.iter().copied().filter(|block| is_stopped(&lane(block).gate)).collect();
        let sorting = world.lock();
        for &block in &stopped {
            // SAFETY: as above.
            let seq = unsafe { block.as_ref() }.seq();
            if lane(&block).turn.claim(seq) {
                sorting.add(block, |block| world.place(block));
                open.retain(|open| *open != block);
            }
        }
        drop(sorting);
        self.read_all(&world, &open, |sorting| sorting.outgoing());
        let sorting = world.lock();
        open.into_iter().for_each(|block| sorting.unpin(block));
    }

    fn pass_of(&mut self, has_stream: bool) {
        let world = self.world.clone();
        let mut open = Vec::with_capacity(world.lanes.len());
        world.lock().pin(world.lanes.iter().map(|lane| &lane.open), &mut open, |block| world.place(block));
        // SAFETY: the block is pinned.
        let is_own = |block: &NonNull<Block>| unsafe { block.as_ref() }.lane().is_own;
        let (own, others): (Vec<_>, Vec<_>) = open.iter().copied().partition(is_own);
        self.read_all(&world, &others, |sorting| sorting.outgoing());
        if has_stream {
            self.read_all(&world, &own, |_| &world.own);
        }
        let sorting = world.lock();
        open.into_iter().for_each(|block| sorting.unpin(block));
    }

    /// Reads the sealed blocks of a queue, then the open blocks.
    fn read_all<'w>(
        &mut self,
        world: &'w World,
        open: &[NonNull<Block>],
        queue: impl Fn(&Sorting<'w, Block>) -> &'w Queue<Block>,
    ) {
        loop {
            let sorting = world.lock();
            let next = sorting.next_of(queue(&sorting));
            drop(sorting);
            let Some(block) = next else { break };
            self.read(block);
            world.give_back(block);
        }
        open.iter().for_each(|&block| self.read(block));
    }

    /// Reads the part of a block that was not read before. Asserts that nothing of its lane is
    /// missing before it except what was overwritten.
    fn read(&mut self, block: NonNull<Block>) {
        // SAFETY: the pass has the block.
        let block = unsafe { block.as_ref() };
        let (_, events) = block.state.committed();
        let lane = self.world.lanes.iter().position(|lane| std::ptr::eq(lane, block.lane())).expect("a lane");
        let given = &mut self.lanes[lane];
        let (before, end) = (block.before(), block.before() + u64::from(events));
        let overwritten = self.world.lanes[lane].overwritten.load(Ordering::Relaxed);
        let first = given.next.max(before);
        assert!(first - given.events <= overwritten, "{} are missing before {first}", first - given.events);
        for number in first..end {
            // SAFETY: loom reports if it is being written.
            let found = block.events[(number - before) as usize].with(|event| unsafe { *event });
            assert_eq!(found, number, "another event than was published");
        }
        block.taken.store(events.into(), Ordering::Relaxed);
        given.events += end.saturating_sub(first);
        given.next = given.next.max(end);
    }
}

/// A cell that loom checks, for data that one thread owns at a time.
pub(crate) struct Owned(Cell<u64>);

impl Owned {
    pub(crate) fn new() -> Owned {
        Owned(Cell::new(0))
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.set(value);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.get()
    }
}
// SAFETY: loom reports if two threads use it.
unsafe impl Sync for Owned {}
// SAFETY: as above.
unsafe impl Send for Owned {}
