//! Events of all lanes by time.
//!
//! Each lane waits with the time of its next event. Before its next block is opened, this is the
//! earliest time of an event in that block. Only lanes with an open block hold memory: a window of
//! a few kilobytes, and a batch of events. When all lanes together hold [`MAX_HELD`], further lanes
//! hold only the time of their next event, and read it when its turn comes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;

use crate::bytes::source::Source;
use crate::bytes::spill::Spill;
use crate::decode::batch::Batch;
use crate::decode::decoder::Decoder;
use crate::decode::event_batch::EventBatch;
use crate::decode::part::{Part, PartState};
use crate::order::ahead::{Ahead, Giving, ReadPart};
use crate::order::by_lane::ByLane;
use crate::order::load::Loader;
use crate::registry::event::Event;
use crate::sessions::clock::Clock;

/// The memory limit for all open blocks. Beyond it, waiting lanes hold none.
const MAX_HELD: usize = 16 << 20;

/// The largest buffer that one such lane hands to the next.
const MAX_SPARE_LEN: usize = 1 << 20;

/// The most events that are passed at once after the current one.
pub(super) const MAX_PASSED: usize = 63;

/// Distances between readings below this one have no overflow, so readings have the order of times.
const MAX_USUAL_TICKS: u64 = 1 << 62;

/// Events of all lanes by time.
pub(crate) struct Merge<'s> {
    source: Source<'s>,
    blocks: ByLane,
    lanes: Vec<Queue<'s>>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// The lane of the latest event.
    current: Option<u32>,
    /// The number of its next events that come before those of all other lanes.
    ahead: usize,
    /// The buffer for checking a whole block.
    scratch: Vec<u8>,
    /// Decompressed payloads that do not fit into memory.
    spill: Spill,
    /// Memory that lanes hold.
    held: usize,
    /// Memory of a lane that waits without any.
    spare: Option<(Vec<u8>, Batch)>,
    /// Decodes blocks on other threads.
    helpers: Option<Box<Ahead>>,
}

/// The unread blocks of a lane, and the open one.
struct Queue<'s> {
    /// Places of the blocks.
    blocks: Range<u64>,
    open: Option<Box<OpenBlock<'s>>>,
    /// Clock reading of the latest event.
    time: u64,
    /// Rank of the session, by its start.
    session: u32,
    tie: u64,
}

/// The open block of a lane.
struct OpenBlock<'s> {
    part: Part,
    loader: Loader<'s>,
    batch: Batch,
    /// Memory of the three fields above.
    held: usize,
    /// The lane waits with the time of an event that is not read yet.
    is_ahead: bool,
    /// What another thread has read, if one has.
    decoded: Option<Box<Decoded>>,
}

/// What another thread has read of a part.
struct Decoded {
    /// The events, until the lane takes them.
    batch: Option<Batch>,
    end: Option<PartState>,
}

/// The time with which a lane waits. Sessions are compared by wall-clock time; inside a session,
/// ticks are finer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    wall_ns: i64,
    session: u32,
    ticks: u64,
    /// The thread, then precise clocks before those that inherit, then the kind.
    tie: u64,
    /// Index of the lane.
    lane: u32,
}

impl<'s> Merge<'s> {
    pub(crate) fn new(source: Source<'s>, blocks: ByLane, decoder: &Decoder) -> io::Result<Self> {
        let sessions = rank_sessions(decoder);
        let lanes = decoder.lanes.iter().enumerate().map(|(number, lane)| {
            let registry = decoder.state.registry(lane.key.registry);
            let kind = registry.and_then(|index| decoder.state.registries[index].plan.kind(lane.key.kind));
            let session = sessions[lane.key.session as usize];
            let inherits = kind.is_some_and(|kind| kind.inherits);
            let tie = u64::from(lane.key.thread) << 32 | u64::from(inherits) << 8 | u64::from(lane.key.kind);
            Queue { blocks: blocks.places(number as u32), open: None, time: 0, session, tie }
        });
        let lanes: Vec<_> = lanes.collect();
        let mut merge = Merge {
            spill: Spill::new(source.len()),
            source,
            blocks,
            lanes,
            waiting: BinaryHeap::with_capacity(decoder.lanes.len()),
            current: None,
            ahead: 0,
            scratch: Vec::new(),
            held: 0,
            spare: None,
            helpers: None,
        };
        for lane in 0..merge.lanes.len() as u32 {
            if let Some(waiting) = merge.wait_for_block(lane, decoder)? {
                merge.waiting.push(Reverse(waiting));
            }
        }
        Ok(merge)
    }

    /// Decodes on other threads, too.
    pub(crate) fn decode_ahead(&mut self, threads: NonZeroUsize, giving: Giving, decoder: &Decoder) -> bool {
        let Merge { source, blocks, lanes, .. } = self;
        let order = |groups: &[Range<u64>]| {
            let of = |(index, group): (u32, &Range<u64>)| {
                let (block, _) = blocks.in_memory(group.start)?;
                let lane = &lanes[block.lane as usize];
                let session = decoder.lanes[block.lane as usize].key.session;
                let clock = &decoder.state.sessions[session as usize].clock;
                Some((lane.waiting(block.lane, block.base_ticks, clock), index))
            };
            let mut order: Vec<_> = (0..).zip(groups).filter_map(of).collect();
            order.sort_unstable();
            order.into_iter().map(|(_, index)| index).collect()
        };
        self.helpers = Ahead::new(threads, giving, source, blocks, decoder, order);
        self.helpers.is_some()
    }

    /// Moves to the next event. Returns false at the end.
    #[inline]
    pub(crate) fn advance(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        if self.ahead > 0
            && let Some(open) = self.open_mut()
            && open.batch.step()
        {
            self.ahead -= 1;
            return Ok(true);
        }
        let found = self.switch(decoder)?;
        self.ahead = if found { self.count_ahead(decoder) } else { 0 };
        Ok(found)
    }

    /// Moves to the next event, which may be of another lane. Returns false at the end.
    fn switch(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        loop {
            let lane = match self.current.take() {
                None => match self.waiting.pop() {
                    None => return Ok(false),
                    Some(Reverse(first)) => first.lane,
                },
                // The lane of the latest event continues, unless another lane is earlier now.
                Some(lane) => match self.step(lane, decoder)? {
                    None => continue,
                    Some(next) => match self.waiting.peek_mut() {
                        // Dropping the peeked entry restores the order of the heap.
                        Some(mut first) if first.0 < next => {
                            let Reverse(first) = std::mem::replace(&mut *first, Reverse(next));
                            if self.held > MAX_HELD {
                                take_memory(&mut self.lanes, &mut self.held, &mut self.spare, lane);
                            }
                            first.lane
                        }
                        _ => next.lane,
                    },
                },
            };
            self.current = Some(lane);
            match self.lanes[lane as usize].open.as_ref().map(|open| open.is_ahead) {
                Some(false) => return Ok(true),
                Some(true) if self.read_ahead(lane, decoder)? => return Ok(true),
                Some(true) => {}
                None => self.open_block(lane, decoder)?,
            }
        }
    }

    /// Returns the current event.
    #[inline(always)]
    pub(crate) fn event<'a>(&'a self, decoder: &'a Decoder) -> Option<Event<'a>> {
        let open = self.lanes.get(self.current? as usize)?.open.as_ref()?;
        decoder.event(&open.part, open.loader.payload(), &open.batch)
    }

    /// Passes the events that come before those of all other lanes. Returns the current event and
    /// those passed.
    pub(crate) fn pass(&mut self) -> Range<usize> {
        let passed = self.ahead.min(MAX_PASSED);
        self.ahead -= passed;
        self.open_mut().map_or(0..1, |open| open.batch.pass(passed))
    }

    /// Returns some events of the current lane.
    #[inline]
    pub(crate) fn events<'a>(&'a self, decoder: &'a Decoder, events: Range<usize>) -> Option<EventBatch<'a>> {
        let open = self.lanes.get(self.current? as usize)?.open.as_ref()?;
        decoder.events(&open.part, open.loader.payload(), &open.batch, events)
    }

    /// Returns the open block of the current lane.
    #[inline(always)]
    fn open_mut(&mut self) -> Option<&mut OpenBlock<'s>> {
        self.lanes.get_mut(self.current? as usize)?.open.as_deref_mut()
    }

    /// Counts the next events of the current lane's batch that come before those of all others. So
    /// the lanes are compared once for all of them.
    fn count_ahead(&self, decoder: &Decoder) -> usize {
        let Some(lane) = self.current else { return 0 };
        let queue = &self.lanes[lane as usize];
        let Some(open) = &queue.open else { return 0 };
        let Some(Reverse(first)) = self.waiting.peek() else { return open.batch.left() };
        let clock = &decoder.state.sessions[open.part.session as usize].clock;
        if first.session == queue.session && clock.start_ticks().max(first.ticks) < MAX_USUAL_TICKS {
            // Within a session, ticks have the order of times.
            let end = first.ticks + u64::from((queue.tie, lane) < (first.tie, first.lane));
            return open.batch.later_times().take_while(|ticks| *ticks < end).count();
        }
        open.batch.later_times().take_while(|ticks| queue.waiting(lane, *ticks, clock) < *first).count()
    }

    /// Moves a lane to its next event or block. Returns `None` at its end.
    #[inline]
    fn step(&mut self, lane: u32, decoder: &mut Decoder) -> io::Result<Option<Waiting>> {
        let queue = &mut self.lanes[lane as usize];
        if let Some(open) = &mut queue.open {
            let mut ahead = None;
            if !open.batch.step() {
                ahead = self.read_on(lane, decoder)?;
            }
            let queue = &self.lanes[lane as usize];
            if let Some(open) = &queue.open
                && let Some(ticks) = ahead.or_else(|| open.batch.time())
            {
                let clock = &decoder.state.sessions[open.part.session as usize].clock;
                return Ok(Some(queue.waiting(lane, ticks, clock)));
            }
            self.close_block(lane);
        }
        self.wait_for_block(lane, decoder)
    }

    /// Reads the next events of a lane's part into its batch, which stays empty at the end of the
    /// part. If lanes hold too much memory, only returns the time of the next event.
    #[cold]
    #[inline(never)]
    fn read_on(&mut self, lane: u32, decoder: &mut Decoder) -> io::Result<Option<u64>> {
        let Some(open) = &mut self.lanes[lane as usize].open else { return Ok(None) };
        let is_full = self.held - open.held > MAX_HELD;
        let OpenBlock { part, loader, batch, decoded, .. } = &mut **open;
        if let Some(decoded) = decoded {
            if let Some(events) = decoded.batch.take() {
                *batch = events;
            } else {
                batch.clear();
            }
            if batch.is_empty()
                && let Some(end) = decoded.end.take()
            {
                decoder.finish(part, end);
            }
            return Ok(None);
        }
        if is_full {
            give_spare(&mut self.spare, loader, batch);
            let time = part.next_time(loader.window(&self.source, &self.spill, part.pos())?);
            if time.is_some() {
                batch.clear();
                open.is_ahead = true;
                account(&mut self.held, open);
                return Ok(time);
            }
        }
        loop {
            let window = loader.window(&self.source, &self.spill, part.pos())?;
            if !decoder.read_window(part, window, batch) {
                loader.widen(part.pos());
            } else if !batch.is_empty() || part.is_at_end() {
                break;
            }
        }
        account(&mut self.held, open);
        Ok(None)
    }

    /// Reads the event that a lane waits with. Returns false if the event is filtered.
    #[cold]
    #[inline(never)]
    fn read_ahead(&mut self, lane: u32, decoder: &mut Decoder) -> io::Result<bool> {
        let Some(open) = &mut self.lanes[lane as usize].open else { return Ok(false) };
        let OpenBlock { part, loader, batch, is_ahead, .. } = &mut **open;
        give_spare(&mut self.spare, loader, batch);
        *is_ahead = false;
        loop {
            let window = loader.window(&self.source, &self.spill, part.pos())?;
            if decoder.read_one(part, window, batch) {
                break;
            }
            loader.widen(part.pos());
        }
        let is_there = !batch.is_empty();
        account(&mut self.held, open);
        Ok(is_there)
    }

    fn close_block(&mut self, lane: u32) {
        let queue = &mut self.lanes[lane as usize];
        if let Some(mut open) = queue.open.take() {
            queue.time = open.part.time;
            self.held -= open.held;
            if let Some(helpers) = self.helpers.as_mut().filter(|_| open.decoded.is_some()) {
                helpers.give_back(&mut open.loader, std::mem::take(&mut open.batch));
            }
            open.loader.release(&mut self.spill);
        }
    }

    /// Returns the time with which a lane waits before its next block.
    fn wait_for_block(&mut self, lane: u32, decoder: &Decoder) -> io::Result<Option<Waiting>> {
        let queue = &self.lanes[lane as usize];
        let Some(place) = queue.blocks.clone().next() else { return Ok(None) };
        let (block, _) = self.blocks.get(place)?;
        let session = decoder.lanes[lane as usize].key.session;
        let clock = &decoder.state.sessions[session as usize].clock;
        // A part begins no earlier than the one before it ended.
        Ok(Some(queue.waiting(lane, block.base_ticks.max(queue.time), clock)))
    }

    fn open_block(&mut self, lane: u32, decoder: &mut Decoder) -> io::Result<()> {
        let queue = &mut self.lanes[lane as usize];
        let Some(place) = queue.blocks.next() else { return Ok(()) };
        let (block, want) = self.blocks.get(place)?;
        if let Some(found) = self.helpers.as_mut().and_then(|helpers| helpers.take(place, &self.blocks)) {
            let part = found.loaded.open(&block, want, decoder);
            debug_assert_eq!(part.is_some(), found.read.is_some(), "the same decision as elsewhere");
            if let Some((part, read)) = part.zip(found.read) {
                let ReadPart { loader, batch, end } = *read;
                let decoded = Some(Box::new(Decoded { batch: Some(batch), end: Some(end) }));
                let batch = Batch::default();
                queue.open =
                    Some(Box::new(OpenBlock { part, loader, batch, held: 0, is_ahead: false, decoded }));
            }
            return Ok(());
        }
        let mut loader = Loader::default();
        let from = (&self.source, &mut self.spill);
        let has_room = self.held <= MAX_HELD;
        let part = loader.open_narrow(from, &block, want, decoder, &mut self.scratch, has_room)?;
        match part {
            Some(part) => {
                let batch = Batch::default();
                let open = OpenBlock { part, loader, batch, held: 0, is_ahead: false, decoded: None };
                account(&mut self.held, queue.open.insert(Box::new(open)));
            }
            None => loader.release(&mut self.spill),
        }
        // The first event is read at the lane's next step.
        Ok(())
    }
}

/// Updates the memory that lanes hold with that of one lane.
fn account(held: &mut usize, open: &mut OpenBlock<'_>) {
    let now = open.loader.room() + open.batch.room() + size_of::<OpenBlock<'_>>();
    *held = *held - open.held + now;
    open.held = now;
}

/// Takes the memory of a lane that waits, if its next event is not read yet.
#[cold]
#[inline(never)]
fn take_memory(lanes: &mut [Queue<'_>], held: &mut usize, spare: &mut Option<(Vec<u8>, Batch)>, lane: u32) {
    let Some(open) = lanes[lane as usize].open.as_mut().filter(|open| open.is_ahead) else { return };
    let batch = std::mem::take(&mut open.batch);
    let buffer = open.loader.park().unwrap_or_default();
    account(held, open);
    if buffer.capacity() + batch.room() <= MAX_SPARE_LEN {
        *spare = Some((buffer, batch));
    }
}

/// Hands on the memory of another lane.
fn give_spare(spare: &mut Option<(Vec<u8>, Batch)>, loader: &mut Loader<'_>, batch: &mut Batch) {
    if batch.room() == 0
        && let Some((buffer, used)) = spare.take()
    {
        loader.give(buffer);
        *batch = used;
    }
}

impl Queue<'_> {
    #[inline(always)]
    fn waiting(&self, lane: u32, ticks: u64, clock: &Clock) -> Waiting {
        Waiting { wall_ns: clock.wall_ns(ticks), session: self.session, ticks, tie: self.tie, lane }
    }
}

/// Ranks sessions by their start, independent of the order of their blocks.
fn rank_sessions(decoder: &Decoder) -> Vec<u32> {
    let sessions = &decoder.state.sessions;
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|index| (sessions[*index].clock.start_wall(), sessions[*index].id));
    let mut ranks = vec![0; sessions.len()];
    for (rank, index) in order.into_iter().enumerate() {
        ranks[index] = rank as u32;
    }
    ranks
}
