//! Where a sink is in a lane: what it has been given of it, has lost, or was never meant to have.

use telemetry_format::{Header, Loss, flags};

use crate::record::LaneRecord;
use crate::source::Source;
use crate::sync::Ordering;

/// Where a sink is in a lane.
#[derive(Default, Clone)]
pub(crate) struct Progress {
    /// The block that comes next, and what the sink has of it.
    pub(crate) seq: u32,
    pub(crate) len: u32,
    events: u32,
    /// Events of the lane that are given, lost or withheld.
    pub(crate) next: u64,
    pub(crate) lost: u64,
    pub(crate) withheld: u64,
    /// Those of `LaneRecord::overwritten` that are counted here.
    overwritten: u64,
    /// The losses that were told.
    pub(crate) told: Loss,
}

/// A block, or a part of one, for a sink.
pub(crate) struct Part<'s> {
    pub(crate) source: &'s Source,
    pub(crate) block: (Header, &'static [u8]),
    /// Those of its events that no earlier reader has.
    pub(crate) new: u64,
}

impl Progress {
    /// Takes note of what was recorded before `before` and is not here: overwritten, or not meant for us.
    pub(crate) fn pass_over(&mut self, record: &LaneRecord, before: u64) {
        let gap = before.saturating_sub(self.next);
        let overwritten =
            record.overwritten.load(Ordering::Relaxed).saturating_sub(self.overwritten).min(gap);
        self.lost += overwritten;
        self.overwritten += overwritten;
        self.withheld += gap - overwritten;
        self.next = self.next.max(before);
    }

    /// All that the lane has lost for this sink.
    pub(crate) fn lost(&self, record: &LaneRecord) -> Loss {
        Loss { sink: self.lost, ..record.lost() }
    }

    /// What the sink does not have of a source, as if it took it.
    pub(crate) fn plan<'s>(&mut self, source: &'s Source) -> Option<Part<'s>> {
        let (len, events) = self.cursor(source.header.seq);
        self.pass_over(source.record, source.header.before + u64::from(events));
        let block = (source.events > events).then(|| self.part(source, len, events));
        let part = block.map(|block| Part { source, block, new: source.end().saturating_sub(self.next) });
        if let Some(part) = &part
            && sum(&part.block.0.lost) > sum(&self.told)
        {
            self.told = part.block.0.lost;
        }
        self.advance(source);
        part
    }

    /// The sink has not taken what it does not have of a source.
    pub(crate) fn lose(&mut self, source: &Source) {
        let (_, events) = self.cursor(source.header.seq);
        self.pass_over(source.record, source.header.before + u64::from(events));
        // Not what an earlier reader has.
        self.lost += source.end().saturating_sub(self.next);
        self.advance(source);
    }

    /// The next reader has nothing of the block that is open.
    pub(crate) fn rewind(&mut self) {
        (self.len, self.events) = (0, 0);
    }

    /// What of a block the sink has.
    fn cursor(&self, seq: u32) -> (u32, u32) {
        if self.seq == seq { (self.len, self.events) } else { (0, 0) }
    }

    /// Moves on to the end of what a source has.
    fn advance(&mut self, source: &Source) {
        self.next = source.header.before + u64::from(source.events);
        (self.seq, self.len, self.events) = match source.sealed {
            true => (source.header.seq.wrapping_add(1), 0, 0),
            false => (source.header.seq, source.len, source.events),
        };
    }

    /// What the sink does not have of a source, behind its cursor.
    fn part(&self, source: &Source, len: u32, events: u32) -> (Header, &'static [u8]) {
        let header = Header {
            flags: if source.sealed { flags::LAST } else { 0 },
            payload_len: source.len - len,
            unpacked_len: source.len - len,
            events: source.events - events,
            offset: len,
            end_ticks: source.end_ticks,
            before: source.header.before + u64::from(events),
            lost: Loss { sink: self.lost, ..source.header.lost },
            withheld: self.withheld,
            ..source.header.clone()
        };
        (header, source.payload(len))
    }
}

/// All counters together: since each only grows, equal sums mean equal counters.
pub(crate) fn sum(lost: &Loss) -> u64 {
    lost.events().wrapping_add(lost.cut)
}
