//! A part of a block while its events are read, and what is here of its payload.

use std::ops::Range;

use telemetry_format::{Cursor, Header};

use crate::lanes::lane::Stretch;
use crate::report::completeness::Reason;

/// A part of a block while its events are read.
pub(crate) struct Part {
    /// What its block says.
    pub(super) header: Header,
    pub(crate) lane: u32,
    pub(crate) session: u32,
    pub(super) registry: u32,
    /// Where the payload stands in the input.
    pub(super) place: Range<u64>,
    /// It stands there as it is read.
    pub(super) is_plain: bool,
    /// Numbers (in the lane) of the events to give out.
    pub(super) give: Range<u64>,
    /// Number of the next event.
    pub(super) next: u64,
    /// Number behind that of the last.
    pub(super) end: u64,
    /// Where in the payload the next event begins.
    pub(super) pos: usize,
    /// Clock reading of the event read last.
    pub(crate) time: u64,
    pub(super) filtered: u64,
    /// Why no more can be read of it.
    pub(super) wrong: Option<Reason>,
}

impl Part {
    /// The part of a block whose payload stands at `place`, and whose first event counts from `time`.
    pub(crate) fn new(
        place: Range<u64>,
        header: &Header,
        lane: u32,
        session: u32,
        registry: u32,
        time: u64,
    ) -> Part {
        let Range { start, end } = Stretch::from(header).range();
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
            wrong: None,
        }
    }

    /// The same, giving out the events of a range; by default none.
    pub(crate) fn giving(self, give: Range<u64>) -> Part {
        Part { give, ..self }
    }

    /// Where in the input a place of the payload is; of a compressed one where it begins.
    #[inline(always)]
    pub(crate) fn offset(&self, at: u32) -> u64 {
        if self.is_plain { self.place.start + u64::from(at) } else { self.place.start }
    }

    /// Where in the payload the next event begins.
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Bit number of its kind.
    pub(crate) fn kind(&self) -> u8 {
        self.header.kind
    }

    /// Clock reading of the next event, which is not read yet. None at the end, and where that cannot be told.
    pub(crate) fn next_time(&self, window: Window<'_>) -> Option<u64> {
        if self.is_at_end() {
            return None;
        }
        let mut cursor = Cursor::new(window.bytes.get(self.pos.checked_sub(window.at)?..)?);
        cursor.unsigned().ok()?;
        Some(self.time.wrapping_add(cursor.unsigned().ok()?))
    }

    /// True if no more can be read of it.
    pub(crate) fn is_at_end(&self) -> bool {
        self.next == self.end || self.wrong.is_some()
    }
}

/// Some of the bytes of a payload.
#[derive(Clone, Copy)]
pub(crate) struct Window<'p> {
    pub(crate) bytes: &'p [u8],
    /// Where in the payload they begin.
    pub(crate) at: usize,
    /// They reach to its end, or there are no more.
    pub(crate) is_last: bool,
}

impl<'p> Window<'p> {
    pub(super) fn all(payload: &'p [u8]) -> Window<'p> {
        Window { bytes: payload, at: 0, is_last: true }
    }
}
