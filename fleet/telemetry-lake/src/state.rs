//! What the lake has of a session: which events of which lanes, and what is missing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use telemetry_columns::CarriedSpans;
use telemetry_format::Loss;

use crate::marks::Marks;
use crate::missing::{Missing, NotGiven, Why, not_given};
use crate::range::{Range, add, events_in, in_order, join, without};

/// A session of a host, as far as its segments are committed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SessionState {
    /// The host.
    pub host: String,
    /// The id of the session.
    pub session: u64,
    /// The batch that this is the state after.
    pub batch: u64,
    /// The name of the program.
    pub program: Option<String>,
    /// All facts, a line for each.
    pub facts: String,
    /// The session's start, in nanoseconds since 1970.
    pub started_ns: i64,
    /// Whether the session ended in good order.
    pub ended: bool,
    /// Up to when the host has sent everything, in nanoseconds since 1970.
    pub until_ns: i64,
    /// Events that the program has written, as far as it says so.
    pub written: u64,
    /// By number.
    pub threads: BTreeMap<u32, ThreadState>,
    /// Whether its rows were deleted, and none has come since.
    #[serde(default)]
    pub is_deleted: bool,
    /// The shortest time from the last event of a segment to its arrival, in nanoseconds. The first
    /// is by the clock of the host, and the second by that of the store. So it is negative if the
    /// host's clock is ahead.
    #[serde(default)]
    pub delay_ns: Option<i64>,
    /// When the store got the latest segment, by its clock, in nanoseconds since 1970.
    #[serde(default)]
    pub arrived_ns: Option<i64>,
    /// The spans whose other part later segments may have.
    #[serde(default, with = "crate::carried")]
    pub spans: CarriedSpans,
    /// In the order in which they were found. The index is the number of the lane.
    pub lanes: Vec<LaneState>,
}

/// A thread of a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ThreadState {
    /// Its name.
    pub name: Option<String>,
    /// The system's number for it.
    pub tid: Option<u64>,
    /// All facts, a line for each.
    pub facts: String,
}

/// A lane of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaneState {
    /// Fingerprint of the registry.
    pub fingerprint: u64,
    /// The name of the registry, if it is known.
    pub registry: Option<String>,
    /// The session's number for the thread.
    pub thread: u32,
    /// Bit number of the kind.
    pub bit: u8,
    /// The name of the kind, if it is known.
    pub kind: Option<String>,
    /// The events that are rows, in order, with other events between them.
    pub ranges: Vec<Range>,
    /// The highest number of recorded events that a block states.
    pub recorded: u64,
    /// When that block ended, in nanoseconds since 1970.
    pub recorded_ns: i64,
    /// The most events that one block tells were given to its stream. `None` if an earlier version
    /// has not noted it.
    #[serde(default)]
    pub stated: Option<u64>,
    /// Losses.
    pub marks: Marks,
    /// Events that a shipper shed, as far as it told: ranges with other events between them. Some
    /// may be rows nevertheless.
    #[serde(default)]
    pub shed: Vec<Range>,
    /// Events of kinds that a shipper withheld, as those of `shed`.
    #[serde(default)]
    pub withheld: Vec<Range>,
    /// Events that were rows until they were deleted: ranges with other events between them. They
    /// are kept, so that such rows do not come back.
    #[serde(default)]
    pub deleted: Vec<Range>,
    /// The range that the last event was added to.
    #[serde(skip)]
    at: usize,
    /// The first event after that which is or was a row.
    #[serde(skip)]
    limit: u64,
}

impl SessionState {
    /// Returns the number of a lane, which is made if there is none.
    pub fn lane(&mut self, fingerprint: u64, thread: u32, bit: u8) -> usize {
        let is_it =
            |lane: &LaneState| (lane.fingerprint, lane.thread, lane.bit) == (fingerprint, thread, bit);
        if let Some(found) = self.lanes.iter().position(is_it) {
            return found;
        }
        self.lanes.push(LaneState {
            fingerprint,
            registry: None,
            thread,
            bit,
            kind: None,
            ranges: Vec::new(),
            recorded: 0,
            recorded_ns: 0,
            stated: Some(0),
            marks: Marks::default(),
            shed: Vec::new(),
            withheld: Vec::new(),
            deleted: Vec::new(),
            at: 0,
            limit: 0,
        });
        self.lanes.len() - 1
    }

    /// Notes that all rows so far are deleted. Spans that are open go, too.
    pub fn delete_rows(&mut self) {
        self.is_deleted = true;
        self.spans = CarriedSpans::default();
        for lane in &mut self.lanes {
            lane.deleted.append(&mut lane.ranges);
            lane.deleted.sort_unstable_by_key(|range| range.from);
            join(&mut lane.deleted);
            lane.join_ranges();
        }
    }

    /// Returns the time before which everything of the session was sent, in nanoseconds since 1970.
    pub fn complete_ns(&self) -> i64 {
        self.until_ns.max(self.started_ns)
    }

    /// Returns the last time of the session that is known, in nanoseconds since 1970.
    pub fn last_ns(&self) -> i64 {
        let recorded = self.lanes.iter().map(|lane| lane.recorded_ns).max();
        recorded.unwrap_or(self.started_ns).max(self.until_ns)
    }

    /// Returns what is missing, by lane and time. Without losses it is empty, except for
    /// [`Why::Open`] if the session has not ended.
    pub fn missing(&self) -> Vec<Missing> {
        let mut all: Vec<_> =
            self.lanes.iter().enumerate().flat_map(|(n, lane)| lane.missing(n, self)).collect();
        // What a sink lost may be rows by another stream, but no block of its own stream.
        let not_given =
            |lane: &LaneState| lane.marks.total().lost.sink.saturating_add(lane.not_given().excluded);
        let given = |lane: &LaneState| {
            let given = lane.recorded.saturating_sub(not_given(lane));
            lane.stated.map_or(given, |stated| given.min(stated))
        };
        let at_ends = self.written.saturating_sub(self.lanes.iter().map(given).sum());
        if at_ends > 0 {
            let (from_ns, until_ns, events) = (self.started_ns, self.last_ns(), Some(at_ends));
            all.push(Missing { lane: None, from_ns, until_ns, events, why: Why::Hole });
        }
        if !self.ended {
            let from_ns = self.complete_ns();
            all.push(Missing { lane: None, from_ns, until_ns: i64::MAX, events: None, why: Why::Open });
        }
        all
    }
}

impl LaneState {
    /// Adds an event, unless it is a row already. Returns whether it was added.
    #[inline]
    pub fn take(&mut self, n: u64, ns: i64) -> bool {
        match self.ranges.get_mut(self.at) {
            Some(range) if range.until == n && n < self.limit => {
                range.until = n + 1;
                range.until_ns = range.until_ns.max(ns);
                true
            }
            _ => self.take_elsewhere(n, ns),
        }
    }

    /// Notes that a shipper shed events.
    pub fn note_shed(&mut self, range: Range) {
        add(&mut self.shed, range);
    }

    /// Notes that a shipper withheld events.
    pub fn note_withheld(&mut self, range: Range) {
        add(&mut self.withheld, range);
    }

    /// Joins ranges without events between them.
    pub fn join_ranges(&mut self) {
        join(&mut self.ranges);
        (self.at, self.limit) = (0, 0);
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        events_in(&self.ranges)
    }

    /// Returns the number of events that were rows until they were deleted.
    pub fn deleted(&self) -> u64 {
        events_in(&self.deleted)
    }

    /// Returns the number of events that were shed and were never rows.
    pub fn shed(&self) -> u64 {
        events_in(&self.shed_ranges())
    }

    /// Returns the events that were shed and were never rows.
    fn shed_ranges(&self) -> Vec<Range> {
        without(&self.shed, &self.taken())
    }

    /// Returns the number of events that were never rows, because the program excluded them or a
    /// shipper withheld them.
    pub fn excluded(&self) -> u64 {
        self.not_given().excluded.saturating_add(events_in(&self.withheld_ranges()))
    }

    /// Returns the events that were withheld, and were neither rows nor shed.
    fn withheld_ranges(&self) -> Vec<Range> {
        match self.withheld.is_empty() {
            true => Vec::new(),
            false => without(&self.withheld, &in_order([self.taken(), self.shed_ranges()].concat())),
        }
    }

    /// Returns the number of recorded events that were never rows, and that are neither excluded
    /// nor lost nor shed.
    pub fn holes(&self) -> u64 {
        let there = events_in(&self.there());
        self.recorded.saturating_sub(there).saturating_sub(self.not_given().sum())
    }

    /// Returns how many events are not rows because the program's sink lost them or was not to have
    /// them.
    ///
    /// A session may have several streams, such as a snapshot. What one of them does not have may
    /// be rows by another. So an increase explains at most the events between the two blocks that
    /// state it, and of these only those that are not rows.
    pub fn not_given(&self) -> NotGiven {
        let there = self.there();
        let (mut sum, mut next) = (NotGiven::default(), 0);
        for step in self.marks.steps() {
            let NotGiven { sink, excluded } = not_given(&step, &there, &mut next);
            sum.sink = sum.sink.saturating_add(sink);
            sum.excluded = sum.excluded.saturating_add(excluded);
        }
        sum
    }

    /// Returns the events that are or were rows, or were shed or withheld, in order. None of the
    /// events before a range is later than its `from_ns`.
    fn there(&self) -> Vec<Range> {
        let told = self.shed_ranges().into_iter().chain(self.withheld_ranges());
        // The first part of one may continue a block, whose beginning is earlier than the events
        // before that part.
        let told = told.map(|range| Range { from_ns: range.until_ns, ..range });
        in_order(self.taken().into_iter().chain(told).collect())
    }

    /// Returns the events that are or were rows, in order.
    fn taken(&self) -> Vec<Range> {
        in_order([&self.ranges[..], &self.deleted[..]].concat())
    }

    #[cold]
    fn take_elsewhere(&mut self, n: u64, ns: i64) -> bool {
        let deleted = self.deleted.partition_point(|range| range.until <= n);
        let deleted = self.deleted.get(deleted).map_or(u64::MAX, |range| range.from);
        if deleted <= n {
            return false;
        }
        let next = self.ranges.partition_point(|range| range.from <= n);
        let before = next.checked_sub(1).and_then(|at| self.ranges.get_mut(at));
        match before {
            Some(range) if n < range.until => return false,
            Some(range) if n == range.until => {
                range.until = n + 1;
                range.until_ns = range.until_ns.max(ns);
                self.at = next - 1;
            }
            _ => {
                self.ranges.insert(next, Range { from: n, until: n + 1, from_ns: ns, until_ns: ns });
                self.at = next;
            }
        }
        self.limit = self.ranges.get(self.at + 1).map_or(deleted, |range| range.from.min(deleted));
        true
    }

    fn missing(&self, number: usize, session: &SessionState) -> Vec<Missing> {
        let (there, mut next) = (self.there(), 0);
        let steps = self.marks.steps().into_iter();
        let steps: Vec<_> = steps.map(|step| (not_given(&step, &there, &mut next), step)).collect();
        let mut all = Vec::new();
        let mut add = |from_ns: i64, until_ns: i64, events: u64, why| {
            if events > 0 {
                let (until_ns, events) = (until_ns.max(from_ns), Some(events));
                all.push(Missing { lane: Some(number), from_ns, until_ns, events, why });
            }
        };
        let start = session.started_ns;
        for (not_given, step) in &steps {
            let from_ns = step.from.unwrap_or(start);
            let (Loss { pool, reentrant, .. }, sink) = (step.change.lost, not_given.sink);
            for (events, why) in [(pool, Why::Pool), (reentrant, Why::Reentrant), (sink, Why::Sink)] {
                add(from_ns, step.until, events, why);
            }
        }
        for range in self.shed_ranges() {
            add(range.from_ns, range.until_ns, range.until - range.from, Why::Shed);
        }
        // What is between the ranges, less what the program says of it.
        let mut excused: u64 = steps.iter().map(|(not_given, _)| not_given.sum()).sum();
        let end = Range { from: self.recorded, until: 0, from_ns: self.recorded_ns, until_ns: 0 };
        let (mut at, mut from_ns) = (0, start);
        let mut holes = Vec::new();
        for range in there.iter().chain([&end]) {
            if at < range.from {
                let told = steps.iter().filter(|(_, step)| at < step.before && step.before <= range.from);
                let told: u64 = told.map(|(not_given, _)| not_given.sum()).sum();
                let known = told.min(range.from - at);
                excused = excused.saturating_sub(known);
                holes.push((from_ns, range.from_ns, range.from - at - known));
            }
            (at, from_ns) = (at.max(range.until), range.until_ns);
        }
        for (from_ns, until_ns, events) in holes {
            // Sums of blocks that did not arrive are told by later ones.
            let known = excused.min(events);
            excused -= known;
            add(from_ns, until_ns, events - known, Why::Hole);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use telemetry_decode::accounts::HeaderSums;

    use super::*;

    fn lane(takes: impl IntoIterator<Item = u64>) -> (LaneState, u64) {
        let mut session = SessionState::default();
        let number = session.lane(1, 1, 1);
        let mut lane = session.lanes.swap_remove(number);
        let added = takes.into_iter().filter(|n| lane.take(*n, *n as i64)).count();
        lane.join_ranges();
        (lane, added as u64)
    }

    /// Events in any order, and repeated, are taken once.
    #[test]
    fn each_event_is_taken_once() {
        let mut random = telemetry_testing::made::Random(7);
        for _ in 0..200 {
            let takes: Vec<_> = (0..60).map(|_| random.below(40)).collect();
            let wanted: std::collections::BTreeSet<_> = takes.iter().copied().collect();
            let (lane, added) = lane(takes);
            assert_eq!((added, lane.rows()), (wanted.len() as u64, wanted.len() as u64));
            let found: Vec<_> = lane.ranges.iter().flat_map(|range| range.from..range.until).collect();
            assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
            assert!(lane.ranges.windows(2).all(|two| two[0].until < two[1].from), "joined and in order");
        }
    }

    /// A snapshot excludes what is no longer in memory, and another sink may have lost events. Both
    /// are rows by the stream that has them, and explain no events that are missing.
    #[test]
    fn another_stream_hides_no_holes() {
        let of_snapshot = HeaderSums { excluded: 60, ..HeaderSums::default() };
        let of_sink = HeaderSums { lost: Loss { sink: 60, ..Loss::default() }, excluded: 0 };
        for (sums, is_first) in [(of_snapshot, false), (of_snapshot, true), (of_sink, false)] {
            let mut session = SessionState::default();
            session.lane(1, 1, 1);
            let lane = &mut session.lanes[0];
            if is_first {
                lane.marks.note(60, 60, sums);
            }
            for part in (0..10).filter(|part| *part != 3) {
                let part = part * 10..part * 10 + 10;
                lane.marks.note(part.start, part.start as i64, HeaderSums::default());
                lane.recorded = part.end;
                assert!(part.into_iter().all(|n| lane.take(n, n as i64)));
            }
            lane.marks.note(60, 60, sums);
            lane.join_ranges();
            assert_eq!((lane.not_given(), lane.holes()), (NotGiven::default(), 10));
            let lane = &session.lanes[0];
            let missing: Vec<_> = lane.missing(0, &session).iter().map(|it| (it.events, it.why)).collect();
            assert_eq!(missing, [(Some(10), Why::Hole)]);
        }
    }

    /// Whatever arrives or is deleted, recorded = rows + deleted + sink + excluded + shed + holes,
    /// and `missing` says so.
    #[test]
    fn the_equation_holds() {
        let mut random = telemetry_testing::made::Random(11);
        for _ in 0..200 {
            // A lane of parts, of which some do not arrive.
            let (mut n, mut sums, mut parts) = (0, HeaderSums::default(), Vec::new());
            for _ in 0..20 {
                let (sink, excluded) = (random.below(3), random.below(2));
                sums.lost.sink += sink;
                sums.excluded += excluded;
                sums.lost.pool += random.below(2);
                n += sink + excluded;
                let events = 1 + random.below(4);
                parts.push((n, events, sums));
                n += events;
            }
            let mut session = SessionState::default();
            session.lane(1, 1, 1);
            let (mut rows, mut shed, mut withheld, mut deleted) = (0, 0, 0, 0);
            for (before, events, sums) in parts {
                let lane = &mut session.lanes[0];
                // It arrives, or was shed or withheld, or both, or neither.
                let fate = random.below(7);
                if fate > 4 {
                    let (from_ns, until_ns) = (before as i64, (before + events) as i64);
                    lane.note_withheld(Range { from: before, until: before + events, from_ns, until_ns });
                    lane.marks.note(before, before as i64, sums);
                    lane.recorded = lane.recorded.max(before + events);
                    withheld += if fate == 5 { events } else { 0 };
                }
                if fate < 2 {
                    let (from_ns, until_ns) = (before as i64, (before + events) as i64);
                    lane.note_shed(Range { from: before, until: before + events, from_ns, until_ns });
                    lane.marks.note(before, before as i64, sums);
                    lane.recorded = lane.recorded.max(before + events);
                    shed += if fate == 0 { events } else { 0 };
                }
                if matches!(fate, 0 | 4 | 5) {
                    continue;
                }
                lane.marks.note(before, before as i64, sums);
                (before..before + events).for_each(|n| rows += u64::from(lane.take(n, n as i64)));
                lane.recorded = lane.recorded.max(before + events);
                if random.below(9) == 0 {
                    session.delete_rows();
                    deleted += std::mem::take(&mut rows);
                }
                let lane = &mut session.lanes[0];
                assert!(!(before..before + events).any(|n| lane.take(n, n as i64)), "a row comes back");
            }
            let lane = &mut session.lanes[0];
            lane.join_ranges();
            assert_eq!((lane.rows(), lane.deleted()), (rows, deleted));
            let (holes, recorded, total) = (lane.holes(), lane.recorded, lane.marks.total());
            assert_eq!((lane.shed(), lane.excluded()), (shed, total.excluded + withheld));
            assert_eq!(recorded, rows + deleted + total.not_given() + shed + withheld + holes);
            let of = |why| -> u64 {
                let all = session.missing();
                all.iter().filter(|missing| missing.why == why).filter_map(|missing| missing.events).sum()
            };
            let told = (of(Why::Hole), of(Why::Shed), of(Why::Sink), of(Why::Pool));
            assert_eq!(told, (holes, shed, total.lost.sink, total.lost.pool));
        }
    }
}
