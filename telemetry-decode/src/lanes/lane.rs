//! The state of one lane during reading: where its next part continues, and counts of its events.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use telemetry_format::{Header, Loss};

use crate::lanes::coverage::Coverage;
use crate::lanes::losses::{HeaderSums, Losses, Step};
use crate::report::completeness::{LaneGap, LaneReport};

/// The key of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LaneKey {
    /// Index of the session.
    pub(crate) session: u32,
    pub(crate) thread: u32,
    pub(crate) registry: u64,
    pub(crate) kind: u8,
}

/// The state of one lane during reading.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) key: LaneKey,
    /// The end of the latest part, if its block continues.
    pub(crate) open: Option<PartEnd>,
    /// The delta slots of that block.
    pub(crate) slots: Vec<u64>,
    /// Returned events.
    pub(crate) read: u64,
    /// Events that the filter excludes.
    pub(crate) filtered: u64,
    /// Events that earlier readers returned or filtered.
    pub(crate) earlier: u64,
    /// Events that this reader or earlier readers returned or filtered.
    pub(crate) covered: Coverage,
    /// Events whose blocks are in the stream according to their headers, or were read by earlier
    /// readers. Those that are only withheld are not among them.
    pub(crate) noted: Coverage,
    /// Events whose blocks are in the stream, but damaged or undecodable.
    unread: Coverage,
    pub(crate) losses: Losses,
    /// The number of recorded events as far as known, and the end of the block that states it.
    pub(crate) recorded: (u64, u64),
    /// The most events that one header tells were given to its stream.
    pub(crate) stated: u64,
    /// Events that were withheld after the stream was written, if there are any. Another part may
    /// have them.
    withheld: Option<Box<Coverage>>,
}

/// The end of a part whose block continues.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartEnd {
    pub(crate) seq: u32,
    pub(crate) offset: u32,
    pub(crate) time: u64,
}

/// The events of a part, by their number in the lane, with their times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventRange {
    pub(crate) before: u64,
    pub(crate) events: u32,
    /// The time when the block was opened.
    pub(crate) base_ticks: u64,
    pub(crate) end_ticks: u64,
    /// The part is the first of its block.
    pub(crate) is_first: bool,
}

impl From<&Header> for EventRange {
    fn from(header: &Header) -> Self {
        let Header { before, events, base_ticks, end_ticks, offset, .. } = *header;
        EventRange { before, events, base_ticks, end_ticks, is_first: offset == 0 }
    }
}

impl EventRange {
    /// Returns the events that a part has in its payload.
    pub(crate) fn there(header: &Header) -> EventRange {
        let events = if header.is_withheld() { 0 } else { header.events };
        EventRange { events, ..EventRange::from(header) }
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.before..self.before.saturating_add(self.events.into())
    }

    /// Adds some of the events to a set.
    fn add_to(&self, set: &mut Coverage, events: Range<u64>) {
        // Only the events before a block are certainly not later than its beginning.
        let is_first = self.is_first && events.start == self.before;
        let behind_ticks = if is_first { self.base_ticks } else { self.end_ticks };
        set.add_behind(events, self.base_ticks, self.end_ticks, behind_ticks);
    }
}

impl Lane {
    pub(crate) fn new(key: LaneKey) -> Lane {
        Lane {
            key,
            open: None,
            slots: Vec::new(),
            read: 0,
            filtered: 0,
            earlier: 0,
            covered: Coverage::default(),
            noted: Coverage::default(),
            unread: Coverage::default(),
            losses: Losses::default(),
            recorded: (0, 0),
            stated: 0,
            withheld: None,
        }
    }

    /// Returns the number of entries in the lane's lists that take memory on the heap.
    pub(crate) fn entries(&self) -> usize {
        let withheld = self.withheld.as_ref().map_or(0, |withheld| 1 + withheld.more());
        self.covered.more() + self.noted.more() + self.unread.more() + self.losses.more() + withheld
    }

    /// Returns true if the events of a part would be behind a gap that is not listed yet.
    pub(crate) fn has_new_gap(&self, header: &Header) -> bool {
        let nothing = Coverage::default();
        let known = match header.is_withheld() {
            true => self.withheld.as_deref().unwrap_or(&nothing),
            false => &self.noted,
        };
        known.first_gap(EventRange::from(header).range()).is_some_and(|news| known.is_apart(&news))
    }

    /// Notes the statements of a header about the lane, whether or not its events are readable.
    pub(crate) fn note(&mut self, header: &Header, has_room: bool) {
        self.note_losses(header.before, header, has_room);
        let event_range = EventRange::from(header);
        self.note_end(header);
        if header.is_withheld() {
            return self.withhold(event_range.range(), event_range.base_ticks, event_range.end_ticks);
        }
        if let Some(news) = self.noted.first_gap(event_range.range()) {
            event_range.add_to(&mut self.noted, news);
        }
    }

    /// Counts events as withheld.
    pub(crate) fn withhold(&mut self, events: Range<u64>, base_ticks: u64, end_ticks: u64) {
        let withheld = self.withheld.get_or_insert_default();
        while let Some(news) = withheld.first_gap(events.clone()) {
            withheld.add_behind(news, base_ticks, end_ticks, end_ticks);
        }
    }

    /// Returns the runs of events that were withheld, with the first and last clock reading that
    /// these can have.
    pub(crate) fn withheld(&self) -> impl Iterator<Item = (Range<u64>, u64, u64)> {
        self.withheld.iter().flat_map(|withheld| withheld.runs())
    }

    /// Notes the number of recorded events, and of those that were given to the stream of a header.
    pub(crate) fn note_end(&mut self, header: &Header) {
        let end = EventRange::from(header).range().end;
        self.recorded = self.recorded.max((end, header.end_ticks));
        let given = end.saturating_sub(header.excluded).saturating_sub(header.lost.sink);
        self.stated = self.stated.max(given);
    }

    /// Notes the sums in a header as those before the lane's event of this number.
    pub(crate) fn note_losses(&mut self, before: u64, header: &Header, has_room: bool) {
        self.losses.note(before, header.end_ticks, HeaderSums::of(header), has_room);
    }

    /// Returns the number of events that were given to the stream, as far as the lane's headers
    /// tell. Another stream of the session may have events that this one was not given.
    pub(crate) fn given(&self) -> u64 {
        let noted = self.with_withheld(&self.noted);
        let excluded: u64 = self.excluded(&noted).iter().map(|(_, events)| events).sum();
        let given = self.recorded.0.saturating_sub(self.losses.total().lost.sink).saturating_sub(excluded);
        given.max(noted.len()).min(self.stated)
    }

    /// Returns the first events of a part that were in no other part.
    pub(crate) fn news(&self, event_range: &EventRange) -> Option<Range<u64>> {
        self.covered.first_gap(event_range.range())
    }

    /// Returns true if the lane was read up to the end of this part, and can continue after it.
    pub(crate) fn is_past(&self, header: &Header) -> bool {
        let end = u64::from(header.offset) + u64::from(header.payload_len);
        self.open.is_some_and(|open| open.seq == header.seq && u64::from(open.offset) >= end)
    }

    /// Counts events as returned or filtered. They were in no other part.
    pub(crate) fn cover(&mut self, events: Range<u64>, event_range: &EventRange) {
        event_range.add_to(&mut self.covered, events);
    }

    /// Counts the events of a part as filtered.
    pub(crate) fn leave_out(&mut self, event_range: &EventRange) {
        if let Some(news) = self.news(event_range) {
            self.filtered += news.end - news.start;
            self.cover(news, event_range);
        }
    }

    /// Returns true if events that are read would be a run of their own among those.
    pub(crate) fn is_apart(&self, news: &Range<u64>) -> bool {
        self.covered.is_apart(news)
    }

    /// Counts events as unreadable.
    pub(crate) fn mark_unreadable(&mut self, events: Range<u64>, event_range: &EventRange, has_room: bool) {
        let Some(news) = self.unread.first_gap(events) else { return };
        match has_room || !self.unread.is_apart(&news) {
            true => event_range.add_to(&mut self.unread, news),
            // Events in between count as unreadable, too, unless they are read.
            false => self.unread.extend(news, event_range.base_ticks, event_range.end_ticks),
        }
    }

    /// Returns the counts of the lane's events.
    pub(crate) fn report(&self, session: u64, kind_name: Option<&str>, start_ticks: u64) -> LaneReport {
        let lost = self.losses.total().lost;
        let absent = self.recorded.0.saturating_sub(self.covered.len());
        let gaps = self.losing_gaps(start_ticks);
        let excluded = absent.saturating_sub(gaps.iter().fold(0, |sum, gap| sum + gap.absent));
        LaneReport {
            session,
            thread: self.key.thread,
            registry: self.key.registry,
            kind: self.key.kind,
            kind_name: kind_name.map(str::to_string),
            read: self.read,
            filtered: self.filtered,
            earlier: self.earlier,
            lost,
            missing: absent.saturating_sub(excluded).saturating_sub(lost.sink),
            unread: self.unread.len_without(&self.covered),
            excluded,
            gaps,
        }
    }

    /// Returns the time intervals of events that the lane has, but that are not returned, whatever
    /// the filter. These events are lost, excluded, in missing blocks, or in blocks that cannot be
    /// read so far.
    pub(crate) fn gaps(&self, start_ticks: u64) -> impl Iterator<Item = (u64, u64)> {
        let not_there = self.noted.gaps().map(move |(_, before, behind)| {
            between(before.map_or(start_ticks, |run| run.end_ticks), behind.behind_ticks)
        });
        // A sink states its excluded events in blocks without events, also behind all others. Those
        // before or between runs are in `not_there`.
        let last = self.noted.last();
        let (end, end_ticks) = last.map_or((0, start_ticks), |(end, run)| (end, run.end_ticks));
        let is_gap = move |step: &Step| step.change.lost.events() > 0 || step.before > end;
        let steps = self.losses.steps().filter(is_gap);
        let stated = steps.map(move |step| between(step.from.unwrap_or(start_ticks), step.until));
        // Another part may have them.
        let withheld = self.withheld().filter(|(events, ..)| self.noted.first_gap(events.clone()).is_some());
        let withheld = withheld.map(|(_, base_ticks, until_ticks)| (base_ticks, until_ticks));
        // Nothing may tell why the last events are missing.
        let told = self.losses.steps().map(|step| step.before);
        let told = told.chain(self.withheld().map(|(events, ..)| events.end)).fold(end, u64::max);
        let (recorded, until_ticks) = self.recorded;
        let rest = (recorded > told).then(|| between(end_ticks, until_ticks));
        not_there.chain(stated).chain(rest).chain(self.unread.intervals()).chain(withheld)
    }

    /// Returns the gaps with missing or lost events, ordered by time.
    fn losing_gaps(&self, start_ticks: u64) -> Vec<LaneGap> {
        // By the number of the first event after the gap.
        let (mut gaps, explained) = (BTreeMap::new(), self.with_withheld(&self.covered));
        for (events, before, behind) in explained.gaps() {
            let from_ticks = before.map_or(start_ticks, |run| run.end_ticks);
            let (from_ticks, until_ticks) = between(from_ticks, behind.behind_ticks);
            let absent = events.end - events.start;
            let gap = LaneGap { from_ticks, until_ticks, absent, lost: Loss::default() };
            gaps.insert(events.end, gap);
        }
        let last = explained.last();
        let (read, from_ticks) = last.map_or((0, start_ticks), |(end, run)| (end, run.end_ticks));
        if self.recorded.0 > read {
            let (end, until_ticks) = self.recorded;
            let gap = LaneGap { from_ticks, until_ticks, absent: end - read, lost: Loss::default() };
            gaps.insert(end, gap);
        }
        self.take_excluded(&explained, &mut gaps);
        for Step { before, from, until: until_ticks, change, .. } in self.losses.steps() {
            if change.lost == Loss::default() {
                continue;
            }
            let from_ticks = from.unwrap_or(start_ticks);
            let gap = LaneGap { from_ticks, until_ticks, absent: 0, lost: Loss::default() };
            let at = gaps.entry(before).or_insert(gap);
            at.from_ticks = at.from_ticks.min(from_ticks);
            at.until_ticks = at.until_ticks.max(until_ticks);
            at.lost = HeaderSums { lost: at.lost, excluded: 0 }.sum(&change).lost;
        }
        let mut gaps: Vec<_> =
            gaps.into_values().filter(|gap| gap.absent > 0 || gap.lost != Loss::default()).collect();
        gaps.shrink_to_fit();
        gaps
    }

    /// Returns the events of a set, and those that were withheld.
    fn with_withheld<'s>(&self, set: &'s Coverage) -> Cow<'s, Coverage> {
        let mut set = Cow::Borrowed(set);
        for (events, base_ticks, end_ticks) in self.withheld() {
            while let Some(news) = set.first_gap(events.clone()) {
                set.to_mut().add_behind(news, base_ticks, end_ticks, end_ticks);
            }
        }
        set
    }

    /// Subtracts excluded events from their gaps.
    fn take_excluded(&self, explained: &Coverage, gaps: &mut BTreeMap<u64, LaneGap>) {
        for (end, events) in self.excluded(explained) {
            if let Some((_, gap)) = gaps.range_mut(end..).next() {
                gap.absent = gap.absent.saturating_sub(events);
            }
        }
    }

    /// Returns the excluded events that are not in a set of the lane's events. They come with the
    /// end of the gap in which they are. A block may state more than there are since the last one.
    /// It may also state a loss of the sink that lies before earlier blocks.
    fn excluded(&self, there: &Coverage) -> Vec<(u64, u64)> {
        let (mut found, mut at, mut unexplained) = (Vec::new(), 0, 0_u64);
        let len = |gap: Range<u64>| gap.end - gap.start;
        for Step { after, before, change, .. } in self.losses.steps() {
            unexplained += there.gaps_in(at..after).map(len).sum::<u64>();
            let gaps: Vec<_> = there.gaps_in(after..before).collect();
            let absent: u64 = gaps.iter().cloned().map(len).sum();
            let sink = change.lost.sink.saturating_sub(unexplained);
            let mut left = change.excluded.min(absent.saturating_sub(sink));
            unexplained = (unexplained + absent - left).saturating_sub(change.lost.sink);
            at = before;
            for gap in gaps.iter().rev().filter(|_| change.excluded > 0) {
                let events = left.min(gap.end - gap.start);
                found.push((gap.end, events));
                left -= events;
            }
        }
        found
    }
}

/// Puts two clock readings in order. Parts written while others were read may disagree a little.
fn between(from_ticks: u64, until_ticks: u64) -> (u64, u64) {
    (from_ticks, until_ticks.max(from_ticks))
}

#[cfg(test)]
mod tests {
    use telemetry_format::{BlockType, flags};

    use super::*;

    /// Makes the header of a part, which states the excluded events and those that the sink lost.
    fn part(before: u64, events: u32, (excluded, sink): (u64, u64)) -> Header {
        let lost = Loss { sink, ..Loss::default() };
        Header { before, events, excluded, lost, ..Header::new(BlockType::Events, 1) }
    }

    fn withheld(before: u64, events: u32) -> Header {
        Header { flags: flags::WITHHELD, ..part(before, events, (0, 0)) }
    }

    fn lane(parts: &[Header]) -> Lane {
        let mut lane = Lane::new(LaneKey { session: 0, thread: 1, registry: 1, kind: 0 });
        parts.iter().for_each(|part| lane.note(part, true));
        lane
    }

    #[test]
    fn entries_are_those_on_the_heap() {
        let parts = [part(0, 2, (0, 0)), part(4, 2, (0, 0)), part(8, 2, (0, 1))];
        let mut lane = lane(&parts);
        assert_eq!(lane.entries(), 3);
        [withheld(12, 2), withheld(16, 2)].iter().for_each(|part| lane.note(part, true));
        assert_eq!(lane.entries(), 5);
        for part in &parts[..2] {
            let event_range = EventRange::from(part);
            lane.mark_unreadable(event_range.range(), &event_range, true);
        }
        assert_eq!(lane.entries(), 6);
    }

    #[test]
    fn gaps_of_withheld_events_are_apart_from_others() {
        let mut lane = lane(&[part(0, 2, (0, 0))]);
        let is_new = |lane: &Lane, all: [Header; 4]| all.map(|part| lane.has_new_gap(&part));
        let parts = [part(0, 2, (0, 0)), part(2, 2, (0, 0)), part(4, 2, (0, 0)), withheld(2, 2)];
        assert_eq!(is_new(&lane, parts), [false, false, true, true]);
        lane.note(&withheld(2, 2), true);
        let parts = [withheld(2, 2), withheld(4, 2), withheld(6, 2), part(4, 2, (0, 0))];
        assert_eq!(is_new(&lane, parts), [false, false, true, true]);
    }

    /// The excluded events of each gap, by its end.
    #[test]
    fn excluded_events_are_in_the_gaps_that_others_do_not_explain() {
        let check = |parts: &[Header], expected: &[(u64, u64)]| {
            let lane = lane(parts);
            assert_eq!(lane.excluded(&lane.noted), expected);
        };
        // The sink lost all of them, or some.
        check(&[part(0, 2, (0, 0)), part(4, 2, (0, 2))], &[]);
        check(&[part(0, 2, (0, 0)), part(6, 2, (5, 3))], &[(6, 1)]);
        // The latest gaps have most. The block between them states less than the one before.
        check(&[part(0, 2, (1, 0)), part(6, 2, (0, 0)), part(12, 2, (7, 0))], &[(12, 4), (6, 2)]);
        // An earlier gap explains the loss of the third block, but not the one of the last.
        let late = [part(0, 6, (0, 0)), part(9, 1, (0, 0)), part(12, 2, (2, 3)), part(16, 2, (4, 5))];
        check(&late, &[(12, 2), (16, 0)]);
    }
}
