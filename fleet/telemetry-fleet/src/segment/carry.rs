//! Blocks that a segment has begun and the next one continues.

use std::collections::BTreeMap;
use std::ops::Range;

use telemetry_format::{Header, flags};

/// A lane of one session: registry, thread, kind.
type Lane = (u64, u32, u8);

/// Where the parts of unfinished blocks are in the open segment.
///
/// A part continues the one before it. So a segment that begins in the middle of a block repeats
/// the parts before; their events have the same numbers and count once.
#[derive(Default)]
pub(crate) struct Carry {
    lanes: BTreeMap<Lane, Vec<Range<u64>>>,
}

impl Carry {
    /// Notes a part of an events block at this place of the segment.
    pub(crate) fn note(&mut self, header: &Header, place: Range<u64>) {
        let lane = (header.registry, header.thread, header.kind);
        if header.flags & flags::LAST != 0 {
            self.lanes.remove(&lane);
            return;
        }
        let parts = self.lanes.entry(lane).or_default();
        if header.offset == 0 {
            parts.clear();
        }
        parts.push(place);
    }

    /// Returns the places of all unfinished blocks, in their order.
    pub(crate) fn places(&self) -> Vec<Range<u64>> {
        let mut places: Vec<_> = self.lanes.values().flatten().cloned().collect();
        places.sort_unstable_by_key(|place| place.start);
        places
    }
}
