//! Events of all lanes by time.
//!
//! Each lane waits with its next event, or, before its next block is read, with the earliest time
//! that the block can begin at. Only lanes that are in the middle of a block hold some of it in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;

use crate::batch::Batch;
use crate::clock::Clock;
use crate::decoder::{Decoder, Want};
use crate::event::Event;
use crate::index::{Choice, IndexedBlock};
use crate::load::Loader;
use crate::part::Part;
use crate::source::Source;

/// Events of all lanes by time.
pub(crate) struct Merge<'s> {
    source: Source<'s>,
    blocks: Vec<IndexedBlock>,
    /// Indices of blocks, by lane.
    order: Vec<u32>,
    wants: Vec<Want>,
    lanes: Vec<Queue<'s>>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// The lane of the event given out last.
    current: Option<u32>,
    /// Where a whole block stands while it is checked.
    scratch: Vec<u8>,
    /// Bytes that lanes hold of compressed blocks for the sake of long events.
    wide: usize,
}

/// A lane's blocks that are still to be read, and the one that is being read.
struct Queue<'s> {
    /// Range of `order`.
    blocks: Range<usize>,
    part: Option<Part>,
    loader: Loader<'s>,
    batch: Batch,
    /// Clock reading of the event read last.
    time: u64,
    /// Place of the session among all, by their starts.
    session: u32,
    tie: u64,
}

/// A lane by what it waits with. Sessions meet by wall-clock time; inside of one, ticks are finer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    wall_ns: i64,
    session: u32,
    ticks: u64,
    /// Thread, then precise clocks before those that inherit, then kind.
    tie: u64,
    /// Index of the lane.
    lane: u32,
}

impl<'s> Merge<'s> {
    pub(crate) fn new(source: Source<'s>, blocks: Vec<IndexedBlock>, decoder: &Decoder) -> Self {
        let Choice { by_lane: order, wants } = Choice::new(&blocks, decoder);
        let lane_of = |index: &u32| blocks[*index as usize].lane;
        let sessions = rank_sessions(decoder);
        let lanes = decoder.lanes.iter().enumerate().map(|(number, lane)| {
            let start = order.partition_point(|index| lane_of(index) < number as u32);
            let end = order.partition_point(|index| lane_of(index) <= number as u32);
            let registry = decoder.known.registry(lane.key.registry);
            let kind = registry.and_then(|index| decoder.known.registries[index].plan.kind(lane.key.kind));
            let session = sessions[lane.key.session as usize];
            let inherits = kind.is_some_and(|kind| kind.inherits);
            let tie = u64::from(lane.key.thread) << 32 | u64::from(inherits) << 8 | u64::from(lane.key.kind);
            Queue {
                blocks: start..end,
                part: None,
                loader: Loader::default(),
                batch: Batch::default(),
                time: 0,
                session,
                tie,
            }
        });
        let lanes: Vec<_> = lanes.collect();
        let mut merge = Merge {
            source,
            blocks,
            order,
            wants,
            lanes,
            waiting: BinaryHeap::new(),
            current: None,
            scratch: Vec::new(),
            wide: 0,
        };
        for lane in 0..merge.lanes.len() as u32 {
            if let Some(waiting) = merge.wait_for_block(lane, decoder) {
                merge.waiting.push(Reverse(waiting));
            }
        }
        merge
    }

    /// Moves to the next event; false at the end.
    #[inline]
    pub(crate) fn advance(&mut self, decoder: &mut Decoder) -> io::Result<bool> {
        loop {
            let lane = match self.current.take() {
                None => match self.waiting.pop() {
                    None => return Ok(false),
                    Some(Reverse(first)) => first.lane,
                },
                // The lane of the last event goes on, unless another one is earlier now.
                Some(lane) => match self.step(lane, decoder)? {
                    None => continue,
                    Some(next) => match self.waiting.peek_mut() {
                        // Dropping the peeked place restores the order of the heap.
                        Some(mut first) if first.0 < next => {
                            std::mem::replace(&mut *first, Reverse(next)).0.lane
                        }
                        _ => next.lane,
                    },
                },
            };
            self.current = Some(lane);
            if self.lanes[lane as usize].part.is_some() {
                return Ok(true);
            }
            self.open_block(lane, decoder)?;
        }
    }

    /// The event moved to.
    #[inline(always)]
    pub(crate) fn event<'a>(&'a self, decoder: &'a Decoder) -> Option<Event<'a>> {
        let queue = self.lanes.get(self.current? as usize)?;
        decoder.event(queue.part.as_ref()?, queue.loader.payload(), &queue.batch)
    }

    /// Moves a lane to its next event, or next block. None at its end.
    #[inline]
    fn step(&mut self, lane: u32, decoder: &mut Decoder) -> io::Result<Option<Waiting>> {
        let queue = &mut self.lanes[lane as usize];
        if let Some(part) = &mut queue.part {
            if !queue.batch.step() {
                read_on(part, &mut queue.loader, &mut queue.batch, &self.source, &mut self.wide, decoder)?;
            }
            if let Some(ticks) = queue.batch.time() {
                let clock = &decoder.known.sessions[part.session as usize].clock;
                return Ok(Some(queue.waiting(lane, ticks, clock)));
            }
            queue.time = part.time;
            queue.part = None;
            queue.loader.release(&mut self.wide);
            queue.batch = Batch::default();
        }
        Ok(self.wait_for_block(lane, decoder))
    }

    /// What a lane waits with before its next block.
    fn wait_for_block(&self, lane: u32, decoder: &Decoder) -> Option<Waiting> {
        let queue = &self.lanes[lane as usize];
        let block = &self.blocks[*self.order.get(queue.blocks.start..queue.blocks.end)?.first()? as usize];
        let session = decoder.lanes[lane as usize].key.session;
        let clock = &decoder.known.sessions[session as usize].clock;
        // A part begins no earlier than the one before it ended.
        Some(queue.waiting(lane, block.base_ticks.max(queue.time), clock))
    }

    fn open_block(&mut self, lane: u32, decoder: &mut Decoder) -> io::Result<()> {
        let queue = &mut self.lanes[lane as usize];
        let Some(place) = queue.blocks.next() else { return Ok(()) };
        let index = self.order[place] as usize;
        let (block, want) = (&self.blocks[index], self.wants[index]);
        queue.part = queue.loader.open_narrow(&self.source, block, want, decoder, &mut self.scratch)?;
        Ok(())
    }
}

impl Queue<'_> {
    #[inline(always)]
    fn waiting(&self, lane: u32, ticks: u64, clock: &Clock) -> Waiting {
        Waiting { wall_ns: clock.wall_ns(ticks), session: self.session, ticks, tie: self.tie, lane }
    }
}

/// Reads the next events of a part into its batch, which stays empty at the end of the part.
#[cold]
#[inline(never)]
fn read_on<'s>(
    part: &mut Part,
    loader: &mut Loader<'s>,
    batch: &mut Batch,
    source: &Source<'s>,
    wide: &mut usize,
    decoder: &mut Decoder,
) -> io::Result<()> {
    loop {
        let window = loader.window(source, part.pos())?;
        if !decoder.read_window(part, window, batch) {
            if let Err(reason) = loader.widen(part.pos(), wide) {
                decoder.give_up(part, reason);
                return Ok(());
            }
        } else if !batch.is_empty() || part.is_at_end() {
            return Ok(());
        }
    }
}

/// The place of every session in the order of starts, which does not depend on where its blocks stand.
fn rank_sessions(decoder: &Decoder) -> Vec<u32> {
    let sessions = &decoder.known.sessions;
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|index| (sessions[*index].clock.start_wall(), sessions[*index].id));
    let mut ranks = vec![0; sessions.len()];
    for (rank, index) in order.into_iter().enumerate() {
        ranks[index] = rank as u32;
    }
    ranks
}
