//! The index of a stream, from its block headers.

use std::io;

use telemetry_format::{BlockType, Header};

use crate::bytes::blocks::{Blocks, Payloads, Piece};
use crate::bytes::source::Source;
use crate::decode::decoder::Decoder;
use crate::lanes::lane::LaneKey;
use crate::order::block::IndexedBlock;
use crate::order::list::BlockList;
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
    blocks: BlockList,
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
    /// Number of its events blocks.
    pub blocks: u64,
    /// Sum of their events.
    pub events: u64,
    /// Sum of their lengths, with headers.
    pub bytes: u64,
    /// Clock reading when the first of them was opened; 0 without blocks.
    pub base_ticks: u64,
    /// No event in them is later.
    pub end_ticks: u64,
}

impl Index {
    pub(crate) fn of(source: &Source<'_>, mut decoder: Decoder, most: usize) -> io::Result<Index> {
        let mut lanes: Vec<IndexedLane> = Vec::new();
        let blocks = scan(source, &mut decoder, most, |decoder, block| {
            decoder.count_whole(block.at, block.lane, &block.event_range(), block.len.into());
            let known = lanes.len();
            lanes.extend(decoder.lanes[known..].iter().map(|lane| IndexedLane::new(&lane.key)));
            lanes[block.lane as usize].add(block);
        })?;
        let known = lanes.len();
        lanes.extend(decoder.lanes[known..].iter().map(|lane| IndexedLane::new(&lane.key)));
        let completeness = decoder.completeness();
        Ok(Index {
            lanes,
            sessions: decoder.state.sessions,
            registries: decoder.state.registries,
            blocks,
            completeness,
        })
    }

    /// Returns the events blocks in the order of the stream. A long list is in a temporary file.
    ///
    /// # Errors
    /// Those of that file.
    pub fn blocks(&self) -> impl Iterator<Item = io::Result<IndexedBlock>> {
        self.blocks.iter()
    }

    /// Returns the same as [`Index::blocks`], and owns the list.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub fn into_blocks(self) -> impl Iterator<Item = io::Result<IndexedBlock>> + Send + use<> {
        self.blocks.into_blocks_in_order()
    }
}

impl IndexedLane {
    fn new(key: &LaneKey) -> IndexedLane {
        IndexedLane {
            session: key.session as usize,
            thread: key.thread,
            registry: key.registry,
            kind: key.kind,
            blocks: 0,
            events: 0,
            bytes: 0,
            base_ticks: 0,
            end_ticks: 0,
        }
    }

    /// Adds the counts of a block.
    fn add(&mut self, block: &IndexedBlock) {
        let is_first = self.blocks == 0;
        self.base_ticks = if is_first { block.base_ticks } else { self.base_ticks.min(block.base_ticks) };
        self.end_ticks = self.end_ticks.max(block.end_ticks);
        self.blocks += 1;
        self.events += u64::from(block.events);
        self.bytes += u64::from(block.len);
    }
}

/// Reads all headers, and all payloads except those of events.
///
/// The header of an events block is only trusted if another header of its session follows at the
/// block's end. Otherwise the payload is read too, because the block may be truncated, and later
/// blocks may be inside its stated range.
///
/// The list has `most` blocks in memory at most. Calls `visit` with each block.
pub(crate) fn scan(
    source: &Source<'_>,
    decoder: &mut Decoder,
    most: usize,
    mut visit: impl FnMut(&mut Decoder, &IndexedBlock),
) -> io::Result<BlockList> {
    let mut blocks = Blocks::skipping(source);
    let mut found = BlockList::new(most);
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
        decoder.note(lane, &header);
        let block = IndexedBlock::new(at, lane, &header);
        visit(decoder, &block);
        found.push(block)?;
    }
    decoder.state.settle();
    found.finish()?;
    Ok(found)
}
