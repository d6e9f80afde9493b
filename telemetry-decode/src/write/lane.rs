//! The open block of a lane of the writer.

use telemetry_format::{BlockType, Header, Loss, MAX_PAYLOAD, flags};

use super::pack;
use crate::lanes::losses::HeaderSums;

/// The open block of a lane, and the fields of its next header.
#[derive(Default)]
pub(super) struct WriterLane {
    block: Option<Filling>,
    /// Number of the next block.
    seq: u32,
    /// Events in the parts written so far.
    before: u64,
    /// Clock reading of the last event.
    time: u64,
    sums: HeaderSums,
    /// The latest sums in a written header.
    written_sums: HeaderSums,
}

struct Filling {
    payload: Vec<u8>,
    /// Payload bytes in the parts written so far.
    written: usize,
    /// Events that are not written yet.
    events: u32,
    base_ticks: u64,
    slots: Vec<u64>,
}

impl WriterLane {
    /// Returns the clock reading of the last event.
    pub(super) fn time(&self) -> u64 {
        self.time
    }

    pub(super) fn lose(&mut self, lost: Loss) {
        self.sums = self.sums.sum(&HeaderSums { lost, excluded: 0 });
        // Events that a sink lost were recorded before.
        self.before = self.before.saturating_add(lost.sink);
    }

    /// Counts events that were recorded but not output.
    pub(super) fn exclude(&mut self, events: u64) {
        self.sums = self.sums.sum(&HeaderSums { lost: Loss::default(), excluded: events });
        self.before = self.before.saturating_add(events);
    }

    /// Appends an event. Returns false, without a change, if the block would exceed `max`. A block
    /// with only this event may exceed it, up to the limit for any block.
    pub(super) fn append(&mut self, event: &pack::Event<'_>, ticks: u64, slots: usize, max: usize) -> bool {
        let block = self.block.get_or_insert_with(|| Filling {
            payload: Vec::new(),
            written: 0,
            events: 0,
            base_ticks: ticks,
            slots: vec![0; slots],
        });
        let (len, before) = (block.payload.len(), block.slots.clone());
        let since = ticks - if block.payload.is_empty() { block.base_ticks } else { self.time };
        event.pack(since, &mut block.payload, &mut block.slots);
        let max = if len == 0 { MAX_PAYLOAD as usize } else { max };
        if block.payload.len() > max {
            block.payload.truncate(len);
            block.slots = before;
            return false;
        }
        block.events += 1;
        self.time = ticks;
        true
    }

    /// Returns the next part to write: the events or losses since the last part, if there are any.
    /// `last` closes the block.
    pub(super) fn take_part(&mut self, last: bool) -> Option<(Header, Vec<u8>)> {
        let lossy = self.sums != self.written_sums;
        let mut header = Header {
            seq: self.seq,
            before: self.before,
            lost: self.sums.lost,
            excluded: self.sums.excluded,
            base_ticks: self.time,
            end_ticks: self.time,
            flags: if last { flags::LAST } else { 0 },
            ..Header::new(BlockType::Events, 0)
        };
        let mut payload = Vec::new();
        if let Some(block) = &mut self.block {
            header.base_ticks = block.base_ticks;
            header.offset = block.written as u32;
            header.events = block.events;
            payload.extend_from_slice(&block.payload[block.written..]);
            block.written = block.payload.len();
            self.before += u64::from(std::mem::take(&mut block.events));
        }
        if last && self.block.take().is_some() {
            self.seq = self.seq.wrapping_add(1);
        }
        if header.events == 0 && !lossy {
            return None;
        }
        self.written_sums = self.sums;
        Some((header, payload))
    }
}
