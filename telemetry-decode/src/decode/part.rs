//! The state of a part of a block during reading, and a window of its payload.

use std::ops::Range;

use telemetry_format::{Cursor, Header};

use crate::lanes::lane::EventRange;
use crate::report::completeness::Reason;

/// The state of a part of a block during reading.
pub(crate) struct Part {
    /// The header of its block.
    pub(super) header: Header,
    pub(crate) lane: u32,
    pub(crate) session: u32,
    pub(super) registry: u32,
    /// The range of the payload in the input.
    pub(super) place: Range<u64>,
    /// The payload is not compressed.
    pub(super) is_plain: bool,
    /// The events to return, by their numbers in the lane.
    pub(super) give: Range<u64>,
    /// Number of the next event.
    pub(super) next: u64,
    /// The number after the last event.
    pub(super) end: u64,
    /// Offset of the next event in the payload.
    pub(super) pos: usize,
    /// Clock reading of the latest event.
    pub(crate) time: u64,
    pub(super) filtered: u64,
    /// Number of events that were read but not returned, because they are not needed.
    pub(super) unneeded: u64,
    /// The error that ends reading.
    pub(super) wrong: Option<Reason>,
}

impl Part {
    /// Creates the state for a part whose payload is at `place`. `time` is the base of the first
    /// event's time.
    pub(crate) fn new(
        place: Range<u64>,
        header: &Header,
        lane: u32,
        session: u32,
        registry: u32,
        time: u64,
    ) -> Part {
        let Range { start, end } = EventRange::from(header).range();
        Part {
            header: header.clone(),
            lane,
            session,
            registry,
            is_plain: place.end - place.start == u64::from(header.payload_len),
            place,
            give: start..start,
            next: start,
            end,
            pos: 0,
            time,
            filtered: 0,
            unneeded: 0,
            wrong: None,
        }
    }

    /// Sets the range of events to return, which is empty by default.
    pub(crate) fn giving(self, give: Range<u64>) -> Part {
        Part { give, ..self }
    }

    /// Converts an offset in the payload to one in the input. For a compressed payload, returns its
    /// beginning.
    #[inline(always)]
    pub(crate) fn offset(&self, at: u32) -> u64 {
        if self.is_plain { self.place.start + u64::from(at) } else { self.place.start }
    }

    /// Returns the offset of the next event in the payload.
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Returns its position, to read from there again with [`Part::go_back`].
    pub(super) fn position(&self) -> [u64; 5] {
        [self.next, self.pos as u64, self.time, self.filtered, self.unneeded]
    }

    /// Goes back to a position.
    pub(super) fn go_back(&mut self, [next, pos, time, filtered, unneeded]: [u64; 5]) {
        (self.next, self.pos, self.time) = (next, pos as usize, time);
        (self.filtered, self.unneeded) = (filtered, unneeded);
    }

    /// Returns the bit number of its kind.
    pub(crate) fn kind(&self) -> u8 {
        self.header.kind
    }

    /// Reads ahead the clock reading of the next event. Returns `None` at the end, or if it is not
    /// readable.
    pub(crate) fn next_time(&self, window: Window<'_>) -> Option<u64> {
        if self.is_at_end() {
            return None;
        }
        let mut cursor = Cursor::new(window.bytes.get(self.pos.checked_sub(window.at)?..)?);
        cursor.unsigned().ok()?;
        Some(self.time.wrapping_add(cursor.unsigned().ok()?))
    }

    /// Returns true if no more events can be read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.next == self.end || self.wrong.is_some()
    }
}

/// The end of a part that another decoder has read.
#[derive(Debug)]
pub(crate) struct PartState {
    next: u64,
    pos: usize,
    time: u64,
    filtered: u64,
    unneeded: u64,
    wrong: Option<Reason>,
}

impl PartState {
    pub(super) fn of(part: &Part) -> PartState {
        let Part { next, pos, time, filtered, unneeded, wrong, .. } = *part;
        PartState { next, pos, time, filtered, unneeded, wrong }
    }

    pub(super) fn give_to(self, part: &mut Part) {
        let PartState { next, pos, time, filtered, unneeded, wrong } = self;
        (part.next, part.pos, part.time, part.wrong) = (next, pos, time, wrong);
        (part.filtered, part.unneeded) = (filtered, unneeded);
    }
}

/// When fewer bytes than these are left in a window, more are read.
pub(crate) const MIN_LEFT: usize = 2 << 10;

/// Some of the bytes of a payload.
#[derive(Clone, Copy)]
pub(crate) struct Window<'p> {
    pub(crate) bytes: &'p [u8],
    /// Their offset in the payload.
    pub(crate) at: usize,
    /// They reach to the payload's end, or the rest is not available.
    pub(crate) is_last: bool,
}

impl<'p> Window<'p> {
    pub(super) fn all(payload: &'p [u8]) -> Window<'p> {
        Window { bytes: payload, at: 0, is_last: true }
    }
}
