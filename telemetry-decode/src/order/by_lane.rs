//! The blocks of a stream, ordered by lane, block and part, and what is read of each.
//!
//! A list in memory is sorted by index. A list in a file is sorted in runs that fit into memory,
//! which are then merged into another file. Both files begin with the last block: whether a part is
//! read depends on the parts after it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;

use telemetry_format::flags;

use crate::decode::decoder::{Decoder, Want};
use crate::order::block::IndexedBlock;
use crate::order::list::{BlockList, Blocks};
use crate::order::rows::{Cursor, Pages, Rows};

/// Number of entries in memory for the runs of a merge together, and for one of them.
const MERGE_ROWS: u64 = 1 << 14;
const MAX_RUN_ROWS: u64 = 1 << 8;

/// The blocks of a stream by lane. A *place* is the index of a block in this order.
pub(crate) enum ByLane {
    InMemory {
        /// The blocks in the order of the stream.
        blocks: Vec<IndexedBlock>,
        /// Indices of blocks, by place.
        order: Vec<u32>,
        /// By the index of the block.
        wants: Vec<Want>,
    },
    InFile(Box<Sorted>),
}

/// Blocks in memory, in the order of the stream.
pub(crate) type Wanted = Vec<(IndexedBlock, Want)>;

/// Blocks in a file, the last place first.
pub(crate) struct Sorted {
    rows: Rows,
    /// The end of each lane's places.
    ends: Vec<u64>,
    pages: Pages,
    /// The blocks in the order of the stream.
    stream: Rows,
}

impl ByLane {
    /// Sorts the blocks of a list.
    pub(crate) fn new(list: BlockList, decoder: &Decoder) -> io::Result<ByLane> {
        let most = list.most();
        match list.into_blocks() {
            Blocks::InMemory(blocks) => Ok(in_memory(blocks, decoder)),
            Blocks::InFile(stream) => Ok(ByLane::InFile(Box::new(Sorted::new(stream, most, decoder)?))),
        }
    }

    /// Returns the places of a lane.
    pub(crate) fn places(&self, lane: u32) -> Range<u64> {
        match self {
            ByLane::InMemory { blocks, order, .. } => {
                let lane_of = |index: &u32| blocks[*index as usize].lane;
                let start = order.partition_point(|index| lane_of(index) < lane);
                let end = order.partition_point(|index| lane_of(index) <= lane);
                start as u64..end as u64
            }
            ByLane::InFile(sorted) => {
                let start = lane.checked_sub(1).map_or(0, |before| sorted.ends[before as usize]);
                start..sorted.ends[lane as usize]
            }
        }
    }

    /// Returns the places of each group, in their order: the parts of one block, and copies of
    /// them. Parts continue each other, and copies count once, so a group must be read by one
    /// decoder. Returns `None` if blocks overlap otherwise, if the list is in a file, or if reading
    /// may reach a limit.
    pub(crate) fn groups(&self, decoder: &Decoder) -> Option<Vec<Range<u64>>> {
        let ByLane::InMemory { blocks, order, .. } = self else { return None };
        if !decoder.can_be_forked() {
            return None;
        }
        let mut groups: Vec<Range<u64>> = Vec::new();
        let mut latest = None;
        // The end of the lane's events so far.
        let mut end = 0;
        for (place, index) in (0..).zip(order) {
            let block = &blocks[*index as usize];
            let range = block.event_range().range();
            let is_new_lane = latest.is_none_or(|(lane, _)| lane != block.lane);
            match groups.last_mut() {
                Some(group) if latest == Some((block.lane, block.seq)) => group.end = place + 1,
                _ if !is_new_lane && range.start < end => return None,
                _ => groups.push(place..place + 1),
            }
            end = if is_new_lane { range.end } else { range.end.max(end) };
            latest = Some((block.lane, block.seq));
        }
        Some(groups)
    }

    /// Returns true if the blocks in memory have more than this many bytes.
    pub(crate) fn is_longer_than(&self, len: u64) -> bool {
        let ByLane::InMemory { blocks, .. } = self else { return false };
        blocks.iter().map(|block| u64::from(block.len)).sum::<u64>() > len
    }

    /// Returns the block at a place, if the list is in memory.
    pub(crate) fn in_memory(&self, place: u64) -> Option<(IndexedBlock, Want)> {
        let ByLane::InMemory { blocks, order, wants } = self else { return None };
        let index = *order.get(place as usize)? as usize;
        Some((blocks[index].clone(), wants[index]))
    }

    /// Returns the block at a place.
    pub(crate) fn get(&mut self, place: u64) -> io::Result<(IndexedBlock, Want)> {
        match self {
            ByLane::InMemory { blocks, order, wants } => {
                let index = order[place as usize] as usize;
                Ok((blocks[index].clone(), wants[index]))
            }
            ByLane::InFile(sorted) => sorted.pages.get(&sorted.rows, sorted.rows.len() - 1 - place),
        }
    }
}

impl From<Wanted> for ByLane {
    fn from(list: Wanted) -> ByLane {
        let (blocks, wants): (Vec<_>, Vec<_>) = list.into_iter().unzip();
        let mut order: Vec<u32> = (0..blocks.len() as u32).collect();
        order.sort_by_key(|index| key(&blocks[*index as usize]));
        ByLane::InMemory { blocks, order, wants }
    }
}

fn in_memory(blocks: Vec<IndexedBlock>, decoder: &Decoder) -> ByLane {
    let mut order: Vec<u32> = (0..blocks.len() as u32).collect();
    order.sort_by_key(|index| key(&blocks[*index as usize]));
    let mut wants = vec![Want::No; blocks.len()];
    let mut choice = Choice::default();
    for &index in order.iter().rev() {
        wants[index as usize] = choice.want(&blocks[index as usize], decoder);
    }
    ByLane::InMemory { blocks, order, wants }
}

type Key = (u32, u32, u32, u64);

fn key(block: &IndexedBlock) -> Key {
    (block.lane, block.seq, block.offset, block.at)
}

/// Decides which blocks are read, from the last place to the first.
#[derive(Default)]
struct Choice {
    /// The lane and the number of the next block, if that is read and continues this one.
    continued: Option<(u32, u32)>,
}

impl Choice {
    /// A part is also read if a later part of its block is selected.
    fn want(&mut self, block: &IndexedBlock, decoder: &Decoder) -> Want {
        let needed = self.continued == Some((block.lane, block.seq));
        let last = block.flags & flags::LAST != 0 || !needed;
        let want = decoder.want(block.lane, &block.event_range(), last);
        self.continued = (want != Want::No && block.offset > 0).then_some((block.lane, block.seq));
        want
    }
}

impl Sorted {
    fn new(stream: Rows, most: usize, decoder: &Decoder) -> io::Result<Sorted> {
        let (runs, starts) = sorted_runs(&stream, most)?;
        let step = (MERGE_ROWS / starts.len().max(1) as u64).clamp(1, MAX_RUN_ROWS);
        let ends = starts.iter().skip(1).copied().chain([runs.len()]);
        let mut cursors: Vec<_> =
            starts.iter().zip(ends).map(|(start, end)| Cursor::new(*start..end, step)).collect();
        let mut waiting = BinaryHeap::with_capacity(cursors.len());
        let mut heads = Vec::with_capacity(cursors.len());
        for (run, cursor) in cursors.iter_mut().enumerate() {
            let head = cursor.next(&runs)?.map(|(block, _)| block);
            waiting.extend(head.as_ref().map(|block| (key(block), run)));
            heads.push(head);
        }
        let (mut rows, mut choice) = (Rows::new()?, Choice::default());
        let mut counts = vec![0; decoder.lanes.len()];
        while let Some((_, run)) = waiting.pop() {
            let next = cursors[run].next(&runs)?.map(|(block, _)| block);
            waiting.extend(next.as_ref().map(|block| (key(block), run)));
            if let Some(block) = std::mem::replace(&mut heads[run], next) {
                counts[block.lane as usize] += 1;
                rows.push(&block, choice.want(&block, decoder))?;
            }
        }
        rows.finish()?;
        let mut end = 0;
        for count in &mut counts {
            end += *count;
            *count = end;
        }
        Ok(Sorted { rows, ends: counts, pages: Pages::default(), stream })
    }
}

/// Sorts runs of `most` blocks. Returns their file, and where each run begins.
fn sorted_runs(stream: &Rows, most: usize) -> io::Result<(Rows, Vec<u64>)> {
    let (mut runs, mut starts) = (Rows::new()?, Vec::new());
    let mut cursor = Cursor::new(0..stream.len(), MAX_RUN_ROWS);
    let mut run = Vec::new();
    loop {
        let next = cursor.next(stream)?;
        if run.len() == most || next.is_none() && !run.is_empty() {
            run.sort_unstable_by_key(|block| Reverse(key(block)));
            starts.push(runs.len());
            for block in run.drain(..) {
                runs.push(&block, Want::No)?;
            }
        }
        match next {
            Some((block, _)) => run.push(block),
            None => break,
        }
    }
    runs.finish()?;
    Ok((runs, starts))
}

/// The blocks in the order of the stream, but those of each lane in its own order. Datagrams may
/// arrive in the wrong order, and a part can only be read after the one that it continues.
pub(crate) struct InStreamOrder {
    blocks: ByLane,
    /// Number of blocks that were returned.
    done: u64,
    /// By lane, the place of its next block.
    next: Vec<u64>,
    /// The position in the list, if that is in a file.
    cursor: Cursor,
}

impl InStreamOrder {
    pub(crate) fn new(blocks: ByLane, decoder: &Decoder) -> InStreamOrder {
        let next = (0..decoder.lanes.len() as u32).map(|lane| blocks.places(lane).start).collect();
        let len = match &blocks {
            ByLane::InMemory { .. } => 0,
            ByLane::InFile(sorted) => sorted.stream.len(),
        };
        InStreamOrder { blocks, done: 0, next, cursor: Cursor::new(0..len, MAX_RUN_ROWS) }
    }

    /// Returns all blocks.
    pub(crate) fn all(&self) -> &ByLane {
        &self.blocks
    }

    /// Returns the indices of groups, given by their places, in the order of their first blocks.
    pub(crate) fn order(&self, groups: &[Range<u64>]) -> Vec<u32> {
        let ByLane::InMemory { blocks, .. } = &self.blocks else { return Vec::new() };
        let mut next = self.next.clone();
        let places = blocks.iter().map(|block| {
            let place = &mut next[block.lane as usize];
            *place += 1;
            *place - 1
        });
        let found = places.map(|place| groups.binary_search_by_key(&place, |group| group.start));
        found.flatten().map(|index| index as u32).collect()
    }

    /// Returns all blocks, if they are in memory and none was returned.
    pub(crate) fn unread(&self) -> Option<&ByLane> {
        (self.done == 0 && matches!(self.blocks, ByLane::InMemory { .. })).then_some(&self.blocks)
    }

    /// Returns the next block and its place; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, IndexedBlock, Want)>> {
        let lane = match &self.blocks {
            ByLane::InMemory { blocks, .. } => blocks.get(self.done as usize).map(|block| block.lane),
            ByLane::InFile(sorted) => self.cursor.next(&sorted.stream)?.map(|(block, _)| block.lane),
        };
        let Some(lane) = lane else { return Ok(None) };
        self.done += 1;
        let place = &mut self.next[lane as usize];
        *place += 1;
        let place = *place - 1;
        self.blocks.get(place).map(|(block, want)| Some((place, block, want)))
    }
}
