//! An entry in the list of a stream's blocks.

use telemetry_format::Header;

use crate::lanes::lane::EventRange;

/// An events block, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexedBlock {
    /// Byte offset of its header.
    pub at: u64,
    /// Length of header and payload.
    pub len: u32,
    /// Index into [`Index::lanes`](crate::blocks::Index::lanes).
    pub lane: u32,
    /// Number of the block in its lane.
    pub seq: u32,
    /// Offset of the part in the payload of its block.
    pub offset: u32,
    /// Number of events that it has: 0 if they are withheld.
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

impl IndexedBlock {
    pub(crate) fn new(at: u64, lane: u32, header: &Header) -> Self {
        IndexedBlock {
            at,
            len: header.block_len() as u32,
            lane,
            seq: header.seq,
            offset: header.offset,
            events: EventRange::there(header).events,
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
