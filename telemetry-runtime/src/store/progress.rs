//! The position of a sink in a lane: what it was given, what it has lost, and what was excluded
//! from it.

use telemetry_format::{HEADER_LEN, Header, Loss, flags};

use crate::memory::record::LaneRecord;
use crate::run::clock::Moment;
use crate::store::source::Source;

/// The position of a sink in a lane.
#[derive(Default, Clone)]
pub(crate) struct Progress {
    /// The number of the next block, and how much of that block the sink has.
    pub(crate) seq: u32,
    pub(crate) len: u32,
    events: u32,
    /// Number of events of the lane that were given, lost or excluded.
    pub(crate) next: u64,
    pub(crate) lost: u64,
    pub(crate) excluded: u64,
    /// The part of `LaneRecord::overwritten` that is counted here.
    overwritten: u64,
    /// The losses that the stream states already.
    pub(crate) stated: Loss,
    /// True if the sink has all of a block that was not sealed yet.
    is_ahead: bool,
    /// Number of events of the open block that the sink forgot and that count as written.
    to_take_back: u32,
    /// True if the sink gets none of the lane's events, only their number.
    is_withheld: bool,
    /// True if the reader may not know yet how many events were withheld.
    is_due: bool,
}

/// A block, or a part of one, for a sink.
pub(crate) struct Part<'s> {
    pub(crate) source: &'s Source,
    pub(crate) head: [u8; HEADER_LEN],
    pub(crate) payload: &'s [u8],
    /// Number of its events that no earlier reader has.
    pub(crate) new: u32,
    /// True if it only states the number of events.
    pub(crate) is_withheld: bool,
}

/// A block with events or losses of a lane that a sink took and has not sent yet.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) record: &'static LaneRecord,
    seq: u32,
    /// Number of the lane's events up to its last one.
    end: u64,
    /// Number of its events that no earlier reader has.
    pub(crate) new: u32,
    /// True if there was no other sink.
    is_sole: bool,
}

impl Held {
    /// Returns what is to be known of a part.
    pub(crate) fn of(part: &Part<'_>, is_sole: bool) -> Held {
        let Part { source, new, .. } = *part;
        Held { record: source.record, seq: source.header.seq, end: source.end(), new, is_sole }
    }

    /// Returns the same of a block that only states losses.
    pub(crate) fn of_losses(record: &'static LaneRecord, lane: &Progress) -> Held {
        Held { record, seq: lane.seq, end: lane.next, new: 0, is_sole: false }
    }
}

impl Progress {
    /// Counts the events before `before` that are missing here: overwritten ones, or ones not meant
    /// for this sink. `overwritten` is the number of the lane's events that were overwritten.
    pub(crate) fn pass_over(&mut self, overwritten: u64, before: u64) {
        let gap = before.saturating_sub(self.next);
        let overwritten = overwritten.saturating_sub(self.overwritten).min(gap);
        self.lost += overwritten;
        self.overwritten += overwritten;
        self.excluded += gap - overwritten;
        self.next = self.next.max(before);
    }

    /// Leaves a block that is gone, of which the sink may have a part.
    pub(crate) fn leave(&mut self) {
        if self.events > 0 {
            self.seq = self.seq.wrapping_add(1);
            self.rewind();
        }
    }

    /// Returns all losses of the lane for this sink.
    pub(crate) fn lost(&self, record: &LaneRecord) -> Loss {
        Loss { sink: self.lost, ..record.lost() }
    }

    /// Returns true if the stream states what is missing of the lane.
    pub(crate) fn has_stated(&self, record: &LaneRecord) -> bool {
        self.lost(record) == self.stated && !self.is_due
    }

    /// Notes that the stream states what is missing of the lane.
    pub(crate) fn state(&mut self, lost: Loss) {
        (self.stated, self.is_due) = (lost, false);
    }

    /// Returns the part of a source that the sink does not have, and moves on as if the sink took
    /// it.
    pub(crate) fn plan<'s>(&mut self, source: &'s Source) -> Option<Part<'s>> {
        self.plan_as(source, Progress::part)
    }

    /// Does the same for a lane whose events the sink does not get. The part only states their
    /// number. `now` is a moment after the source was read.
    pub(crate) fn plan_withheld<'s>(&mut self, source: &'s Source, now: Moment) -> Option<Part<'s>> {
        self.is_withheld = true;
        self.plan_as(source, |lane, source, _, _| lane.withheld(source, now))
    }

    fn plan_as<'s>(
        &mut self,
        source: &'s Source,
        part: impl FnOnce(&mut Progress, &'s Source, u32, u32) -> Part<'s>,
    ) -> Option<Part<'s>> {
        if self.has(source) {
            self.is_ahead &= !source.sealed;
            return None;
        }
        let (len, events) = self.cursor(source.header.seq);
        self.pass_over(source.overwritten, source.header.before + u64::from(events));
        let part = if source.events > events { Some(part(self, source, len, events)) } else { None };
        self.advance(source);
        part
    }

    /// Counts the part of a source that the sink does not have as lost. Returns how many of these
    /// events count as written.
    pub(crate) fn lose(&mut self, source: &Source) -> u32 {
        let (_, events) = self.cursor(source.header.seq);
        self.pass_over(source.overwritten, source.header.before + u64::from(events));
        // Without the events that an earlier reader has.
        self.lost += source.end().saturating_sub(self.next);
        let to_take_back = self.to_take_back;
        self.advance(source);
        to_take_back
    }

    /// Counts the part of a source that the sink is not to get as excluded. The next part for the
    /// lane states it.
    pub(crate) fn exclude(&mut self, source: &Source) {
        let (_, events) = self.cursor(source.header.seq);
        self.pass_over(source.overwritten, source.header.before + u64::from(events));
        self.excluded += source.end().saturating_sub(self.next);
        (self.is_withheld, self.is_due) = (true, true);
        self.advance(source);
    }

    /// Counts the events of a block that the sink took and forgot. Returns how many of them are
    /// lost and count as written. Those of a block that is still in memory are given again.
    pub(crate) fn forget(&mut self, block: &Held) -> u32 {
        // The block that stated the losses may be among the forgotten ones.
        self.stated = Loss::default();
        self.is_due |= self.is_withheld;
        if block.new == 0 {
            return 0;
        }
        let written = if block.is_sole { block.new } else { 0 };
        if self.seq == block.seq || self.is_ahead && self.seq == block.seq.wrapping_add(1) {
            (self.seq, self.is_ahead) = (block.seq, false);
            self.rewind();
            self.next = self.next.min(block.end.saturating_sub(block.new.into()));
            self.to_take_back += written;
            return 0;
        }
        self.lost += u64::from(block.new);
        written
    }

    /// Begins the open block again for the next reader, which has nothing of it.
    pub(crate) fn rewind(&mut self) {
        (self.len, self.events) = (0, 0);
        self.is_due |= self.is_withheld;
    }

    /// Returns true if the sink has all of a block: it got the block when the lane was stopped, and
    /// the block was sealed later.
    fn has(&self, source: &Source) -> bool {
        self.seq == source.header.seq.wrapping_add(1) && self.next >= source.end()
    }

    /// Returns how much of a block the sink has.
    fn cursor(&self, seq: u32) -> (u32, u32) {
        if self.seq == seq { (self.len, self.events) } else { (0, 0) }
    }

    /// Moves on to the end of a source.
    fn advance(&mut self, source: &Source) {
        self.next = source.header.before + u64::from(source.events);
        (self.is_ahead, self.to_take_back) = (source.is_last && !source.sealed, 0);
        (self.seq, self.len, self.events) = match source.is_last {
            true => (source.header.seq.wrapping_add(1), 0, 0),
            false => (source.header.seq, source.len, source.events),
        };
    }

    /// Returns the part of a source after the cursor of the sink. It states the losses so far.
    fn part<'s>(&mut self, source: &'s Source, len: u32, events: u32) -> Part<'s> {
        let lost = self.state_of(source);
        let header = Header {
            flags: if source.is_last { flags::LAST } else { 0 },
            payload_len: source.len - len,
            unpacked_len: source.len - len,
            events: source.events - events,
            offset: len,
            end_ticks: source.end_ticks,
            before: source.header.before + u64::from(events),
            lost,
            excluded: self.excluded,
            ..source.header.clone()
        };
        let payload = source.payload(len);
        // At most the events of the block.
        let new = source.end().saturating_sub(self.next).min(source.events.into()) as u32;
        Part { source, head: head(&header, payload), payload, new, is_withheld: false }
    }

    /// Returns a part without the events of a source, which counts them as excluded.
    fn withheld<'s>(&mut self, source: &'s Source, now: Moment) -> Part<'s> {
        let lost = self.state_of(source);
        self.excluded += source.end().saturating_sub(self.next);
        self.is_due = false;
        let (seq, offset) = match source.is_last {
            true => (source.header.seq.wrapping_add(1), 0),
            false => (source.header.seq, source.len),
        };
        let opened = Moment { ticks: source.header.base_ticks, wall: source.header.base_wall };
        let header = Header {
            seq,
            offset,
            base_ticks: source.end_ticks,
            // Readers take the rate of the clock from this pair.
            base_wall: opened.wall_at(source.end_ticks, now),
            end_ticks: source.end_ticks,
            before: source.end(),
            lost,
            excluded: self.excluded,
            flags: 0,
            payload_len: 0,
            unpacked_len: 0,
            events: 0,
            ..source.header.clone()
        };
        Part { source, head: head(&header, &[]), payload: &[], new: 0, is_withheld: true }
    }

    /// Returns the losses that a part of a source states, and notes that it does.
    fn state_of(&mut self, source: &Source) -> Loss {
        let lost = Loss { sink: self.lost, ..source.header.lost };
        if sum(&lost) > sum(&self.stated) {
            self.stated = lost;
        }
        lost
    }
}

/// Returns the bytes of a header for this payload.
// A function of its own, because it would be on the drain's stack below the sink.
#[inline(never)]
pub(crate) fn head(header: &Header, payload: &[u8]) -> [u8; HEADER_LEN] {
    let header = Header { payload_crc: crc32c::crc32c(payload), ..header.clone() };
    header.encode(crc32c::crc32c)
}

/// Returns the sum of all counters. Each counter only grows, so equal sums mean equal counters.
pub(crate) fn sum(lost: &Loss) -> u64 {
    lost.events().wrapping_add(lost.truncated)
}

#[cfg(test)]
mod tests;
