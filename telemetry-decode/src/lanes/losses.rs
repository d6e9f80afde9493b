//! Which events of a lane were lost or excluded, as its blocks state it. Blocks may come in any
//! order.
//!
//! This is the only place with these rules: readers, `listen` and the lake use it.

use telemetry_format::{Header, Loss};

use crate::lanes::few::Few;

/// Sums that a header states about its lane. They only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderSums {
    /// Lost events, by cause. Those of the sink were recorded.
    pub lost: Loss,
    /// Recorded events that were never meant for the stream.
    pub excluded: u64,
}

/// The losses and excluded events of a lane, as its blocks state them. The counters only grow, but
/// a part of a block may state them as they were when its block was opened. So the highest sums so
/// far are right.
///
/// Times are of any clock: readers have ticks of the session, and the lake nanoseconds since 1970.
#[derive(Debug, Clone)]
pub struct Losses<T = u64> {
    /// By the number of the next event and the sum of the counters.
    marks: Few<(u64, u64), Mark<T>>,
}

/// Blocks that state the same sums.
#[derive(Debug, Clone, Copy)]
struct Mark<T> {
    sums: HeaderSums,
    /// No event of the first of these blocks is later.
    first_end: T,
    /// No event of the last of these blocks is later.
    last_end: T,
    /// The events before the last of these blocks.
    last_before: u64,
}

/// An increase of losses or excluded events.
#[derive(Debug, Clone, Copy)]
pub struct Step<T = u64> {
    /// Number of the next event after it.
    pub before: u64,
    /// Events before the last block that states less; 0 for the first increase. So the events that
    /// it excludes have numbers from this to `before`.
    pub after: u64,
    /// End of the last block that states less; none for the first increase.
    pub from: Option<T>,
    /// End of the first block that states it.
    pub until: T,
    /// The difference of the sums.
    pub change: HeaderSums,
}

impl<T> Default for Losses<T> {
    fn default() -> Self {
        Losses { marks: Few::default() }
    }
}

impl<T: Ord + Copy> Losses<T> {
    /// Returns the number of sums beyond the first.
    pub fn more(&self) -> usize {
        self.marks.more()
    }

    /// Notes the sums of a block, the number of events before it, and the time of its last event.
    ///
    /// If there is no room, sums replace those before them: two increases become one.
    pub fn note(&mut self, before: u64, end: T, sums: HeaderSums, has_room: bool) {
        let sum = sums.lost.events().saturating_add(sums.lost.truncated).saturating_add(sums.excluded);
        let key = (before, sum);
        if let Some(mark) = self.marks.up_to_mut(&key)
            && mark.sums.highest(&sums) == mark.sums
        {
            mark.last_end = mark.last_end.max(end);
            // One that states less may be of another stream of the lane.
            if mark.sums == sums {
                mark.last_before = mark.last_before.max(before);
            }
            return;
        }
        let mut mark = Mark { sums, first_end: end, last_end: end, last_before: before };
        if let Some((&next, same)) = self.marks.from(&key)
            && same.sums == sums
        {
            mark.last_end = mark.last_end.max(same.last_end);
            mark.last_before = mark.last_before.max(same.last_before);
            self.marks.remove(&next);
        }
        if !has_room && let Some(earlier) = self.marks.up_to(&key).map(|(earlier, _)| *earlier) {
            self.marks.remove(&earlier);
        }
        self.marks.insert(key, mark);
    }

    /// Returns the latest sums.
    pub fn total(&self) -> HeaderSums {
        self.marks.iter().fold(HeaderSums::default(), |sum, (_, mark)| sum.highest(&mark.sums))
    }

    /// Returns all sums. Each comes with the first and the last block that state it: the number of
    /// events before the block, and its end.
    pub fn all(&self) -> impl Iterator<Item = (&HeaderSums, [(u64, T); 2])> {
        self.marks.iter().map(|((before, _), mark)| {
            (&mark.sums, [(*before, mark.first_end), (mark.last_before, mark.last_end)])
        })
    }

    /// Returns all increases, in the order of the lane.
    pub fn steps(&self) -> impl Iterator<Item = Step<T>> {
        let (mut sum, mut less) = (HeaderSums::default(), None::<&Mark<T>>);
        self.marks.iter().filter_map(move |((before, _), mark)| {
            let change = mark.sums.each(&sum, u64::saturating_sub);
            let until = mark.first_end;
            // Blocks may come in another order than they were written. Then the last block that
            // states less may be one that states the sums of the time when it was opened, and is
            // later.
            let from = less.map(|less| match less.last_end <= until {
                true => less.last_end,
                false => less.first_end.min(until),
            });
            let after = less.map_or(0, |less| less.last_before.min(*before));
            let step = Step { before: *before, after, from, until, change };
            sum = sum.highest(&mark.sums);
            less = Some(mark);
            (change != HeaderSums::default()).then_some(step)
        })
    }
}

impl HeaderSums {
    /// Returns the sums that a header states.
    pub fn of(header: &Header) -> HeaderSums {
        HeaderSums { lost: header.lost, excluded: header.excluded }
    }

    /// Returns the number of recorded events that the stream was not given.
    pub fn not_given(&self) -> u64 {
        self.lost.sink.saturating_add(self.excluded)
    }

    pub(crate) fn sum(&self, other: &HeaderSums) -> HeaderSums {
        self.each(other, u64::saturating_add)
    }

    pub(crate) fn highest(&self, other: &HeaderSums) -> HeaderSums {
        self.each(other, u64::max)
    }

    fn each(&self, other: &HeaderSums, f: fn(u64, u64) -> u64) -> HeaderSums {
        let (a, b) = (&self.lost, &other.lost);
        HeaderSums {
            lost: Loss {
                pool: f(a.pool, b.pool),
                reentrant: f(a.reentrant, b.reentrant),
                sink: f(a.sink, b.sink),
                truncated: f(a.truncated, b.truncated),
            },
            excluded: f(self.excluded, other.excluded),
        }
    }
}
