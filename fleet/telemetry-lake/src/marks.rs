//! The losses of a lane, from the sums that its blocks state.

use serde::{Deserialize, Serialize};
use telemetry_format::Header;

/// Sums since a lane began. They only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Events that found no memory in the pool.
    pub pool: u64,
    /// Events that interrupted an emission of their lane.
    pub reentrant: u64,
    /// Recorded events that the sink did not take.
    pub sink: u64,
    /// Events with a truncated value, which are not lost.
    pub truncated: u64,
    /// Recorded events that were never meant for the stream.
    pub excluded: u64,
}

impl Sums {
    /// Returns the sums that a header states.
    pub fn of(header: &Header) -> Sums {
        let telemetry_format::Loss { pool, reentrant, sink, truncated, .. } = header.lost;
        Sums { pool, reentrant, sink, truncated, excluded: header.excluded }
    }

    fn each(&self, other: &Sums, f: fn(u64, u64) -> u64) -> Sums {
        Sums {
            pool: f(self.pool, other.pool),
            reentrant: f(self.reentrant, other.reentrant),
            sink: f(self.sink, other.sink),
            truncated: f(self.truncated, other.truncated),
            excluded: f(self.excluded, other.excluded),
        }
    }

    fn total(&self) -> u64 {
        [self.pool, self.reentrant, self.sink, self.truncated, self.excluded]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// What the blocks of a lane state, in the order of the lane. Blocks may come in any order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Marks(Vec<Mark>);

/// Blocks that state the same sums.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Mark {
    /// Events of the lane before the first of these blocks.
    before: u64,
    sums: Sums,
    /// No event of the first of these blocks is later, in nanoseconds since 1970.
    first_end: i64,
    /// No event of the last of these blocks is later.
    last_end: i64,
}

/// An increase of the sums.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Events of the lane before it.
    pub before: u64,
    /// When it can have begun, in nanoseconds since 1970; `None` for the first one.
    pub from_ns: Option<i64>,
    /// When it had ended.
    pub until_ns: i64,
    /// By how much the sums grew.
    pub change: Sums,
}

/// The most marks of a lane. Beyond that, two increases become one.
const MAX_MARKS: usize = 4096;

impl Marks {
    /// Notes what a block states: the events before it, the time of its last one, and the sums.
    pub fn note(&mut self, before: u64, end_ns: i64, sums: Sums) {
        let key = (before, sums.total());
        let mut at = self.0.partition_point(|mark| (mark.before, mark.sums.total()) <= key);
        if let Some(mark) = at.checked_sub(1).and_then(|earlier| self.0.get_mut(earlier))
            && mark.sums.each(&sums, u64::max) == mark.sums
        {
            mark.last_end = mark.last_end.max(end_ns);
            return;
        }
        let mut mark = Mark { before, sums, first_end: end_ns, last_end: end_ns };
        if let Some(next) = self.0.get(at).filter(|next| next.sums == sums) {
            mark.last_end = mark.last_end.max(next.last_end);
            self.0.remove(at);
        }
        if self.0.len() >= MAX_MARKS && at > 0 {
            at -= 1;
            self.0.remove(at);
        }
        self.0.insert(at, mark);
    }

    /// Returns the highest sums.
    pub fn total(&self) -> Sums {
        self.0.iter().fold(Sums::default(), |total, mark| total.each(&mark.sums, u64::max))
    }

    /// Returns all increases.
    pub fn steps(&self) -> Vec<Step> {
        let (mut sums, mut less, mut steps) = (Sums::default(), None::<&Mark>, Vec::new());
        for mark in &self.0 {
            let change = mark.sums.each(&sums, u64::saturating_sub);
            let until_ns = mark.first_end;
            // A block may state the sums of the time when it was opened, and end later.
            let from_ns = less.map(|less| match less.last_end <= until_ns {
                true => less.last_end,
                false => less.first_end.min(until_ns),
            });
            if change != Sums::default() {
                steps.push(Step { before: mark.before, from_ns, until_ns, change });
            }
            sums = sums.each(&mark.sums, u64::max);
            less = Some(mark);
        }
        steps
    }
}
