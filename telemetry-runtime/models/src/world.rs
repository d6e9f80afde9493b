//! What the models of blocks have in common: a pool of a few pages, lanes that write blocks of one page, and
//! passes that read them.

use std::ptr::NonNull;
use std::sync::Arc;

use loom::cell::{Cell, UnsafeCell};
use telemetry_format::state;

use crate::list::Linked;
use crate::open::Open;
use crate::pages::{self, CHUNK_PAGES};
use crate::publish::State;
use crate::sorter::{Queue, Sorter, Sorting, Stored};
use crate::status::Status;
use crate::sync::{AtomicBool, AtomicPtr, AtomicU16, AtomicU64, Ordering};

/// Events that a block has room for.
const ROOM: usize = 2;

/// All that is shared. Lives as long as the threads that have it.
pub(crate) struct World {
    pub(crate) sorter: Sorter<Block>,
    /// What is output apart, once there is a stream for it; until then it may be given up.
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
    /// Its blocks are output apart.
    is_own: bool,
    pub(crate) status: Status,
    pub(crate) open: Open<Block>,
    /// Events that were given up before a sink had them.
    pub(crate) overwritten: AtomicU64,
    /// Events whose emitters have returned.
    pub(crate) emitted: AtomicU64,
}

/// A block of one page.
pub(crate) struct Block {
    state: State,
    next: AtomicPtr<Block>,
    pinned: AtomicBool,
    /// Events that the sink has.
    taken: AtomicU64,
    /// Written when the block is opened: whose it is, and what the lane had recorded before.
    header: UnsafeCell<(*const Lane, u64)>,
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
        // SAFETY: loom says if it is being written; lanes live as long as the world.
        unsafe { &*self.header.with(|header| (*header).0) }
    }

    fn before(&self) -> u64 {
        // SAFETY: as above.
        self.header.with(|header| unsafe { (*header).1 })
    }
}

// SAFETY: what is not atomic is in cells that loom checks.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    /// So many pages, and so many lanes that have nothing yet.
    pub(crate) fn new(pages: usize, lanes: usize) -> Arc<World> {
        World::with(pages, vec![false; lanes])
    }

    /// So many pages, and lanes of which some are output apart, for which there is no stream yet.
    pub(crate) fn with(pages: usize, is_own: Vec<bool>) -> Arc<World> {
        let block = || Block {
            state: State::new(),
            next: AtomicPtr::new(std::ptr::null_mut()),
            pinned: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            header: UnsafeCell::new((std::ptr::null(), 0)),
            events: [(); ROOM].map(|()| UnsafeCell::new(u64::MAX)),
        };
        let lane = |is_own| Lane {
            is_own,
            status: Status::new(),
            open: Open::new(),
            overwritten: AtomicU64::new(0),
            emitted: AtomicU64::new(0),
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

    /// The sorter's lock, which is free sooner or later.
    pub(crate) fn lock(&self) -> Sorting<'_, Block> {
        self.sorter.lock(u32::MAX, loom::thread::yield_now).expect("a lock that is held for moments")
    }

    pub(crate) fn give_back(&self, block: NonNull<Block>) {
        let page = self.blocks.iter().position(|known| std::ptr::eq(known, block.as_ptr())).expect("a block");
        pages::give(&self.map, page, 1);
    }

    /// As `place` of the store. All events are output.
    pub(crate) fn place(&self, block: &Block) -> Option<&Queue<Block>> {
        block.lane().is_own.then_some(&self.own)
    }
}

/// What a lane's thread knows.
pub(crate) struct Writer {
    pub(crate) world: Arc<World>,
    lane: usize,
    block: Option<NonNull<Block>>,
    /// Events in blocks that are sealed, and the next event's number.
    recorded: u64,
    pub(crate) number: u64,
    /// Takes the place of what no sink has if there is no memory; else waits.
    overwrites: bool,
}

impl Writer {
    pub(crate) fn new(world: &Arc<World>, lane: usize, overwrites: bool) -> Writer {
        world.lanes[lane].status.claim();
        world.lanes[lane].status.live();
        Writer { world: world.clone(), lane, block: None, recorded: 0, number: 0, overwrites }
    }

    fn lane(&self) -> &Lane {
        &self.world.lanes[self.lane]
    }

    /// As `record_long` and `refill`: emits the next event. False if there is no memory for it.
    pub(crate) fn emit(&mut self) -> bool {
        let is_full = |block: NonNull<Block>| {
            // SAFETY: the block is the lane's.
            unsafe { block.as_ref() }.state.committed().1 as usize == ROOM
        };
        if self.block.is_none_or(is_full) && !self.refill() {
            return false;
        }
        // SAFETY: as above.
        let block = unsafe { self.block.expect("refilled").as_ref() };
        let (len, events) = state::unpack(block.state.own());
        // SAFETY: loom says if it is being read.
        block.events[events as usize].with_mut(|event| unsafe { *event = self.number });
        self.number += 1;
        block.state.publish(state::pack(len + 1, events + 1));
        self.lane().emitted.store(self.number, Ordering::Release);
        true
    }

    fn refill(&mut self) -> bool {
        self.seal();
        let page =
            pages::take(&self.world.map, 1).or_else(|| self.overwrites.then(|| self.reclaim()).flatten());
        let Some(page) = page else { return false };
        let block = &self.world.blocks[page];
        // SAFETY: the page is ours; loom says if somebody has it still.
        block.header.with_mut(|header| unsafe { *header = (self.lane(), self.recorded) });
        block.events.iter().for_each(|event| event.with_mut(|event| unsafe { *event = u64::MAX }));
        block.state.publish(0);
        block.pinned.store(false, Ordering::Relaxed);
        block.taken.store(0, Ordering::Relaxed);
        let block = NonNull::from(block);
        self.block = Some(block);
        self.lane().open.set(block);
        true
    }

    /// As `Store::reclaim` where the oldest is overwritten, or the flight recorder gives up.
    fn reclaim(&self) -> Option<usize> {
        let sorting = self.world.lock();
        sorting.sort(|block| self.world.place(block));
        let own = (!self.world.has_stream.load(Ordering::Relaxed)).then_some(&self.world.own);
        let victim = own.and_then(Queue::take).or_else(|| sorting.outgoing().take())?;
        // SAFETY: the block is out of its queue, and so ours.
        let block = unsafe { victim.as_ref() };
        let (_, events) = block.state.committed();
        let untaken = u64::from(events) - block.taken.load(Ordering::Relaxed);
        block.lane().overwritten.fetch_add(untaken, Ordering::Relaxed);
        self.world.give_back(victim);
        pages::take(&self.world.map, 1)
    }

    /// As `seal`.
    pub(crate) fn seal(&mut self) {
        let Some(block) = self.block.take() else { return };
        // SAFETY: the block is ours until it is handed over.
        self.recorded += u64::from(unsafe { block.as_ref() }.state.committed().1);
        // SAFETY: as above; its memory is the world's.
        unsafe { self.world.sorter.hand_over(block) };
    }

    /// As at the end of a thread.
    pub(crate) fn close(mut self) {
        self.seal();
        self.lane().status.close();
    }
}

/// What a sink has been given, by lane.
pub(crate) struct Reader {
    world: Arc<World>,
    pub(crate) lanes: Vec<Given>,
}

/// Of one lane.
#[derive(Default)]
pub(crate) struct Given {
    /// All events below this are given, or were overwritten.
    pub(crate) next: u64,
    /// Events given.
    pub(crate) events: u64,
}

impl Reader {
    pub(crate) fn new(world: &Arc<World>) -> Reader {
        Reader { world: world.clone(), lanes: world.lanes.iter().map(|_| Given::default()).collect() }
    }

    /// As `Outputs::pass` with a sweep, where what is output apart has a stream.
    pub(crate) fn pass(&mut self) {
        self.world.has_stream.store(true, Ordering::Relaxed);
        self.pass_of(true);
    }

    /// The same where it has none.
    pub(crate) fn pass_without_a_stream(&mut self) {
        self.pass_of(false);
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

    /// Reads what is sealed of a queue, then what is open.
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

    /// Reads what of a block was not read before; and asserts that nothing of its lane is missing before it but
    /// what was overwritten.
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
            // SAFETY: loom says if it is being written.
            let found = block.events[(number - before) as usize].with(|event| unsafe { *event });
            assert_eq!(found, number, "another event than was published");
        }
        block.taken.store(events.into(), Ordering::Relaxed);
        given.events += end.saturating_sub(first);
        given.next = given.next.max(end);
    }
}

/// A cell that loom checks, for what one thread has at a time.
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
// SAFETY: loom says if two have it.
unsafe impl Sync for Owned {}
// SAFETY: as above.
unsafe impl Send for Owned {}
