//! What was read of a lane, kept for a later reader to go on from.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use telemetry_format::Loss;

use crate::lanes::coverage::Told;
use crate::lanes::lane::{Lane, LaneKey};

/// What was read of one lane of one session, by one reader or by several, each of which went on where those
/// before it had stopped ([`crate::Reader::resume`]). As small as the gaps of the lane are few.
///
/// It can be kept by `serde` and read back by the same or a later version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Session id.
    pub session: u64,
    /// The session's number for the thread.
    pub thread: u32,
    /// The registry's fingerprint.
    pub registry: u64,
    /// The kind's bit number.
    pub kind: u8,
    /// Events given out or not wanted, by their number in the lane, and the first and last clock reading that they
    /// can have.
    runs: Vec<(Range<u64>, u64, u64)>,
    /// Events before a block, what it tells, and the ends of the first and the last block that tell it.
    told: Vec<(u64, Counters, u64, u64)>,
    /// Events recorded, and the end of the block that says so.
    recorded: (u64, u64),
}

/// Sums that a header tells: lost for want of memory, reentrant, by sinks; truncated; excluded.
type Counters = [u64; 5];

impl Position {
    /// Events given out or not wanted.
    pub fn events(&self) -> u64 {
        self.runs
            .iter()
            .map(|(events, ..)| events.end.saturating_sub(events.start))
            .fold(0, u64::saturating_add)
    }

    /// A lane of which another system's log has this number of events, and all were read. Such a log does not
    /// number them. A stream that is made of it numbers them in the order of the lane.
    pub fn of_log(session: u64, thread: u32, registry: u64, kind: u8, events: u64) -> Position {
        let (runs, recorded) = (vec![(0..events, 0, u64::MAX)], (events, u64::MAX));
        Position { session, thread, registry, kind, runs, told: Vec::new(), recorded }
    }

    /// What was read of the lane by this reader or the other.
    pub fn join(&self, other: &Position) -> Position {
        let key = LaneKey { session: 0, thread: self.thread, registry: self.registry, kind: self.kind };
        let mut lane = Lane::new(key);
        self.restore(&mut lane);
        other.restore(&mut lane);
        Position::of(&lane, self.session)
    }

    pub(crate) fn of(lane: &Lane, session: u64) -> Position {
        let counters = |told: &Told| {
            let Told { lost: Loss { pool, reentrant, sink, truncated }, excluded } = *told;
            [pool, reentrant, sink, truncated, excluded]
        };
        Position {
            session,
            thread: lane.key.thread,
            registry: lane.key.registry,
            kind: lane.key.kind,
            runs: lane.covered.runs().collect(),
            told: lane
                .losses
                .told()
                .map(|(before, told, first, last)| (before, counters(told), first, last))
                .collect(),
            recorded: lane.recorded,
        }
    }

    /// Gives a lane that was not read yet what is known of it. Whatever the numbers are, the lane stays sound.
    pub(crate) fn restore(&self, lane: &mut Lane) {
        for (events, base_ticks, end_ticks) in &self.runs {
            while let Some(gap) = lane.covered.first_gap(events.clone()) {
                lane.covered.add(gap.clone(), *base_ticks, *end_ticks);
                // Their blocks need not stand in this stream: others have read them.
                lane.noted.add(gap, *base_ticks, *end_ticks);
            }
        }
        for &(before, [pool, reentrant, sink, truncated, excluded], first_end, last_end) in &self.told {
            let told = Told { lost: Loss { pool, reentrant, sink, truncated }, excluded };
            lane.losses.note(before, first_end, told);
            lane.losses.note(before, last_end, told);
        }
        lane.earlier = lane.covered.len();
        lane.recorded = lane.recorded.max(self.recorded);
    }
}

/// Lanes that earlier readers have read, and this one has not met yet.
#[derive(Debug, Default)]
pub(crate) struct Earlier(HashMap<(u64, u32, u64, u8), Position>);

impl Earlier {
    pub(crate) fn add(&mut self, lane: Position) {
        self.0.insert((lane.session, lane.thread, lane.registry, lane.kind), lane);
    }

    /// Gives a new lane what earlier readers know of it.
    pub(crate) fn restore(&mut self, lane: &mut Lane, session: u64) {
        let key = (session, lane.key.thread, lane.key.registry, lane.key.kind);
        if let Some(read) = self.0.remove(&key) {
            read.restore(lane);
        }
    }

    /// Events that the stream was given of a session, in lanes that this reader has not met.
    pub(crate) fn given(&self, session: u64) -> u64 {
        let of_session = self.0.values().filter(|lane| lane.session == session);
        let given = of_session.map(|read| {
            let highest =
                |index: usize| read.told.iter().map(|(_, counters, ..)| counters[index]).max().unwrap_or(0);
            read.recorded.0.saturating_sub(highest(4)).saturating_sub(highest(2))
        });
        given.fold(0, u64::saturating_add)
    }
}
