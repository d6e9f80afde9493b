//! The position in a lane, from which a later reader can continue.

use std::collections::HashMap;
use std::ops::Range;

use telemetry_format::Loss;

use crate::lanes::lane::{Lane, LaneKey};
use crate::lanes::losses::HeaderSums;

/// The events of one lane of one session that were read, by one reader or by several that continued
/// each other ([`crate::Reader::resume`]). It takes memory only for the gaps of the lane.
///
/// With the feature `serde` it can be stored. The same or a later version can read it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Position {
    /// Session id.
    pub session: u64,
    /// The session's number for the thread.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
    /// Returned or filtered events, by their number in the lane, with the first and last clock
    /// reading that they can have.
    runs: Vec<(Range<u64>, u64, u64)>,
    /// For each block or several that state the same sums: the number of events before it, its
    /// sums, and the ends of the first and the last of these blocks. If more events are before the
    /// last one, it has an entry of its own.
    sums: Vec<(u64, Counters, u64, u64)>,
    /// The number of recorded events, and the end of the block that states it.
    recorded: (u64, u64),
    /// The most events that one header tells were given to its stream. Earlier versions did not
    /// store it.
    #[cfg_attr(feature = "serde", serde(default))]
    stated: Option<u64>,
    /// Events that were withheld after the stream was written, as those of `runs`. Earlier
    /// versions did not store them.
    #[cfg_attr(feature = "serde", serde(default))]
    withheld: Vec<(Range<u64>, u64, u64)>,
}

/// The sums in a header: lost because the pool was full, reentrant, lost by sinks; truncated;
/// excluded.
type Counters = [u64; 5];

impl Position {
    /// Returns the number of returned or filtered events.
    pub fn events(&self) -> u64 {
        self.runs
            .iter()
            .map(|(events, ..)| events.end.saturating_sub(events.start))
            .fold(0, u64::saturating_add)
    }

    /// Creates the position after all events of a lane of another system's log. Such a log does not
    /// number them. A stream made from it numbers them in the order of the lane.
    pub fn of_log(session: u64, thread: u32, registry: u64, kind: u8, events: u64) -> Position {
        let (runs, recorded) = (vec![(0..events, 0, u64::MAX)], (events, u64::MAX));
        Position {
            session,
            thread,
            registry,
            kind,
            runs,
            sums: Vec::new(),
            recorded,
            stated: None,
            withheld: Vec::new(),
        }
    }

    /// Returns the events that this reader or the other one read.
    #[must_use]
    pub fn join(&self, other: &Position) -> Position {
        let mut lane = self.lane();
        other.restore(&mut lane);
        Position::of(&lane, self.session)
    }

    /// Returns a lane that was read up to here.
    fn lane(&self) -> Lane {
        let key = LaneKey { session: 0, thread: self.thread, registry: self.registry, kind: self.kind };
        let mut lane = Lane::new(key);
        self.restore(&mut lane);
        lane
    }

    pub(crate) fn of(lane: &Lane, session: u64) -> Position {
        let counters = |sums: &HeaderSums| {
            let HeaderSums { lost: Loss { pool, reentrant, sink, truncated }, excluded } = *sums;
            [pool, reentrant, sink, truncated, excluded]
        };
        let entries = |(sums, [(before, first), (last_before, last)]): (&HeaderSums, [(u64, u64); 2])| {
            let later = (last_before > before).then_some((last_before, counters(sums), last, last));
            [Some((before, counters(sums), first, last)), later].into_iter().flatten()
        };
        Position {
            session,
            thread: lane.key.thread,
            registry: lane.key.registry,
            kind: lane.key.kind,
            runs: lane.covered.runs().collect(),
            sums: lane.losses.all().flat_map(entries).collect(),
            recorded: lane.recorded,
            stated: Some(lane.stated),
            withheld: lane.withheld().collect(),
        }
    }

    /// Sets the state of a lane that was not read yet. Any numbers leave the lane consistent.
    pub(crate) fn restore(&self, lane: &mut Lane) {
        for (events, base_ticks, end_ticks) in &self.runs {
            while let Some(gap) = lane.covered.first_gap(events.clone()) {
                lane.covered.add(gap.clone(), *base_ticks, *end_ticks);
                // Their blocks may be absent from this stream, because other readers had them.
                lane.noted.add(gap, *base_ticks, *end_ticks);
            }
        }
        for &(before, [pool, reentrant, sink, truncated, excluded], first_end, last_end) in &self.sums {
            let sums = HeaderSums { lost: Loss { pool, reentrant, sink, truncated }, excluded };
            lane.losses.note(before, first_end, sums, true);
            lane.losses.note(before, last_end, sums, true);
        }
        lane.earlier = lane.covered.len();
        lane.recorded = lane.recorded.max(self.recorded);
        lane.stated = lane.stated.max(self.stated.unwrap_or(self.recorded.0));
        for (events, base_ticks, end_ticks) in &self.withheld {
            lane.withhold(events.clone(), *base_ticks, *end_ticks);
        }
    }
}

/// Lanes that earlier readers have read, and this one has not found yet.
#[derive(Debug, Default)]
pub(crate) struct Earlier(HashMap<(u64, u32, u64, u8), Position>);

impl Earlier {
    pub(crate) fn add(&mut self, lane: Position) {
        self.0.insert((lane.session, lane.thread, lane.registry, lane.kind), lane);
    }

    /// Sets the state of a new lane to that of earlier readers.
    pub(crate) fn restore(&mut self, lane: &mut Lane, session: u64) {
        let key = (session, lane.key.thread, lane.key.registry, lane.key.kind);
        if let Some(read) = self.0.remove(&key) {
            read.restore(lane);
        }
    }

    /// Returns the number of events of a session that were given to the stream, in lanes that this
    /// reader has not found.
    pub(crate) fn given(&self, session: u64) -> u64 {
        let of_session = self.0.values().filter(|lane| lane.session == session);
        of_session.map(|read| read.lane().given()).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Earlier versions did not store what one header tells.
    #[test]
    fn of_an_earlier_version() {
        let whole = Position::of_log(1, 2, 3, 4, 90);
        assert_eq!((whole.stated, whole.lane().given()), (None, 90));
        let later = Position { stated: Some(80), ..whole.clone() };
        assert_eq!(later.join(&later).stated, Some(80));
        assert_eq!(later.join(&whole).stated, Some(90));
    }

    /// The last block with the same sums has an entry only if events are between.
    #[test]
    fn sums_of_several_blocks() {
        let excluded = [0, 0, 0, 0, 1];
        for sums in [vec![(4, excluded, 5, 9)], vec![(4, excluded, 5, 9), (6, excluded, 9, 9)]] {
            let position = Position { sums: sums.clone(), ..Position::of_log(1, 2, 3, 4, 90) };
            assert_eq!(position.join(&position).sums, sums);
        }
    }
}
