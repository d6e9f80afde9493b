//! The index of a stream, from its block headers.

use std::io;

use telemetry_format::{BlockType, Header, flags};

use crate::bytes::blocks::{Blocks, Payloads, Piece};
use crate::bytes::source::Source;
use crate::decode::decoder::{Decoder, Want};
use crate::lanes::lane::EventRange;
use crate::registry::known_registry::KnownRegistry;
use crate::report::completeness::Completeness;
use crate::sessions::session::Session;

/// The contents of a stream according to its block headers. Payloads of events are not read.
#[derive(Debug)]
#[non_exhaustive]
pub struct Index {
    /// In the order of their first blocks.
    pub sessions: Vec<Session>,
    /// Registries from the caller, then those in the stream.
    pub registries: Vec<KnownRegistry>,
    /// In the order of their first blocks.
    pub lanes: Vec<IndexedLane>,
    /// Events blocks in the order of the stream.
    pub blocks: Vec<IndexedBlock>,
    /// The completeness according to the headers, which do not show damage inside events blocks.
    pub completeness: Completeness,
}

/// A lane: the events of one kind of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexedLane {
    /// Index into [`Index::sessions`].
    pub session: usize,
    /// The session's number for the thread; 0 for losses that belong to no lane.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
}

/// An events block, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexedBlock {
    /// Byte offset of its header.
    pub at: u64,
    /// Length of header and payload.
    pub len: u32,
    /// Index into [`Index::lanes`].
    pub lane: u32,
    /// Number of the block in its lane.
    pub seq: u32,
    /// Offset of the part in the payload of its block.
    pub offset: u32,
    /// Number of events.
    pub events: u32,
    /// The flags of its header.
    pub flags: u8,
    /// Clock reading when the block was opened.
    pub base_ticks: u64,
    /// No event in it is later.
    pub end_ticks: u64,
    /// Events recorded in the lane before it.
    pub before: u64,
}

impl Index {
    pub(crate) fn of(source: &Source<'_>, mut decoder: Decoder) -> io::Result<Index> {
        let blocks = scan(source, &mut decoder)?;
        for block in &blocks {
            decoder.count_whole(block.lane, &block.event_range(), block.len.into());
        }
        let completeness = decoder.completeness();
        let lanes = decoder.lanes.iter().map(|lane| IndexedLane {
            session: lane.key.session as usize,
            thread: lane.key.thread,
            registry: lane.key.registry,
            kind: lane.key.kind,
        });
        Ok(Index {
            lanes: lanes.collect(),
            sessions: decoder.state.sessions,
            registries: decoder.state.registries,
            blocks,
            completeness,
        })
    }
}

impl IndexedBlock {
    fn new(at: u64, lane: u32, header: &Header) -> Self {
        IndexedBlock {
            at,
            len: header.block_len() as u32,
            lane,
            seq: header.seq,
            offset: header.offset,
            events: header.events,
            flags: header.flags,
            base_ticks: header.base_ticks,
            end_ticks: header.end_ticks,
            before: header.before,
        }
    }

    pub(crate) fn event_range(&self) -> EventRange {
        let IndexedBlock { before, events, base_ticks, end_ticks, offset, .. } = *self;
        EventRange { before, events, base_ticks, end_ticks, is_first: offset == 0 }
    }
}

/// Reads all headers, and all payloads except those of events.
///
/// The header of an events block is only trusted if another header of its session follows at the
/// block's end. Otherwise the payload is read too, because the block may be truncated, and later
/// blocks may be inside its stated range.
pub(crate) fn scan(source: &Source<'_>, decoder: &mut Decoder) -> io::Result<Vec<IndexedBlock>> {
    let mut blocks = Blocks::skipping(source);
    let mut found = Vec::new();
    let mut payloads = Payloads::NotOfEvents;
    while let Some(piece) = blocks.next_with(payloads)? {
        let (at, header) = match piece {
            Piece::Block(block) if block.header.block_type == BlockType::Events => (block.at, block.header),
            Piece::Block(block) => {
                decoder.take(&block);
                continue;
            }
            Piece::Damage(damage, header) => {
                payloads = Payloads::NotOfEvents;
                decoder.take_damage(damage, header.as_ref());
                continue;
            }
        };
        let follows = |next: Header| next.block_type == BlockType::Events && next.session == header.session;
        if payloads == Payloads::NotOfEvents && !blocks.peek()?.is_some_and(follows) {
            blocks.seek(at);
            payloads = Payloads::All;
            continue;
        }
        payloads = Payloads::NotOfEvents;
        if !decoder.admits(at, &header) {
            continue;
        }
        let lane = decoder.lane(&header);
        decoder.lanes[lane as usize].note(&header);
        found.push(IndexedBlock::new(at, lane, &header));
    }
    decoder.state.settle();
    Ok(found)
}

/// Sorts the blocks of each lane, within the places that the lane has in the stream. Datagrams may
/// arrive in the wrong order, and a part can only be read after the one that it continues.
pub(crate) fn put_lanes_in_order(blocks: &mut Vec<IndexedBlock>, by_lane: &[u32]) {
    if by_lane.is_sorted_by_key(|index| (blocks[*index as usize].lane, *index)) {
        return;
    }
    let mut ordered = blocks.clone();
    for lane in by_lane.chunk_by(|one, other| blocks[*one as usize].lane == blocks[*other as usize].lane) {
        let mut places = lane.to_vec();
        places.sort_unstable();
        for (place, index) in places.into_iter().zip(lane) {
            ordered[place as usize] = blocks[*index as usize].clone();
        }
    }
    *blocks = ordered;
}

/// The selected blocks of an index, ordered by lane, block and part.
pub(crate) struct Choice {
    /// Indices of blocks.
    pub(crate) by_lane: Vec<u32>,
    /// By the block's index.
    pub(crate) wants: Vec<Want>,
}

impl Choice {
    pub(crate) fn new(blocks: &[IndexedBlock], decoder: &Decoder) -> Choice {
        let mut by_lane: Vec<u32> = (0..blocks.len() as u32).collect();
        by_lane.sort_by_key(|index| {
            let block = &blocks[*index as usize];
            (block.lane, block.seq, block.offset, block.at)
        });
        let mut wants = vec![Want::No; blocks.len()];
        let mut behind: Option<(&IndexedBlock, Want)> = None;
        for &index in by_lane.iter().rev() {
            let block = &blocks[index as usize];
            // A part is also read if a later part of its block is selected.
            let needed = behind.is_some_and(|(next, want)| {
                want != Want::No && (next.lane, next.seq) == (block.lane, block.seq) && next.offset > 0
            });
            let last = block.flags & flags::LAST != 0 || !needed;
            let want = decoder.want(block.lane, &block.event_range(), last);
            wants[index as usize] = want;
            behind = Some((block, want));
        }
        Choice { by_lane, wants }
    }
}
