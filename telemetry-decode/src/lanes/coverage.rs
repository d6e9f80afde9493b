//! Which events of a lane were read, lost or excluded. Blocks may come in any order.

use std::ops::Range;

use telemetry_format::Loss;

use crate::lanes::few::Few;

/// A set of events of a lane, by their number in the lane. It takes memory only for its gaps.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// By the number of the first event.
    runs: Few<u64, Run>,
}

/// Consecutive events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// The number after the last event.
    end: u64,
    /// No event of the run is earlier.
    pub(crate) base_ticks: u64,
    /// No event of the run is later.
    pub(crate) end_ticks: u64,
    /// No event before the run is later.
    pub(crate) behind_ticks: u64,
}

impl Coverage {
    /// Returns the first part of `range` that is not in the set.
    pub(crate) fn first_gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        let start = match self.runs.up_to(&range.start) {
            Some((_, run)) => run.end.max(range.start),
            None => range.start,
        };
        let end = self.runs.from(&start).map_or(range.end, |(next, _)| range.end.min(*next));
        (start < end).then_some(start..end)
    }

    /// Returns the number of runs that take memory on the heap.
    pub(crate) fn more(&self) -> usize {
        self.runs.more()
    }

    /// Returns true if these events, which are not in the set, would be a run of their own.
    pub(crate) fn is_apart(&self, range: &Range<u64>) -> bool {
        let before = range.start.checked_sub(1).and_then(|key| self.runs.up_to(&key));
        before.is_none_or(|(_, run)| run.end != range.start)
            && self.runs.from(&range.end).is_none_or(|(start, _)| *start != range.end)
    }

    /// Adds events to the run before or after them, together with the gap between them. Adds a run
    /// if there is none.
    pub(crate) fn extend(&mut self, range: Range<u64>, base_ticks: u64, end_ticks: u64) {
        if let Some(run) = self.runs.up_to_mut(&range.start) {
            run.end = run.end.max(range.end);
            run.end_ticks = run.end_ticks.max(end_ticks);
            return;
        }
        let later = self.runs.from(&range.start).map(|(start, _)| *start);
        match later.and_then(|start| self.runs.remove(&start)) {
            Some(run) => {
                let (base_ticks, end_ticks) = (run.base_ticks.min(base_ticks), run.end_ticks.max(end_ticks));
                self.add(range.start..run.end, base_ticks, end_ticks);
            }
            None => self.add(range, base_ticks, end_ticks),
        }
    }

    /// Adds events that are not in the set, of a block with these times.
    pub(crate) fn add(&mut self, range: Range<u64>, base_ticks: u64, end_ticks: u64) {
        self.add_behind(range, base_ticks, end_ticks, base_ticks);
    }

    /// Adds events of a part of a block. Earlier events may be later than the block's beginning,
    /// but not later than `behind_ticks`.
    pub(crate) fn add_behind(
        &mut self,
        range: Range<u64>,
        base_ticks: u64,
        end_ticks: u64,
        behind_ticks: u64,
    ) {
        if range.is_empty() {
            return;
        }
        let mut start = range.start;
        let mut run = Run { end: range.end, base_ticks, end_ticks, behind_ticks };
        if let Some((before, left)) = start.checked_sub(1).and_then(|key| self.runs.up_to(&key))
            && left.end == start
        {
            start = *before;
            run.base_ticks = run.base_ticks.min(left.base_ticks);
            run.end_ticks = run.end_ticks.max(left.end_ticks);
            run.behind_ticks = left.behind_ticks;
        }
        if let Some(right) = self.runs.remove(&range.end) {
            run.end = right.end;
            run.base_ticks = run.base_ticks.min(right.base_ticks);
            run.end_ticks = run.end_ticks.max(right.end_ticks);
        }
        self.runs.insert(start, run);
    }

    /// Returns the number of events in the set.
    pub(crate) fn len(&self) -> u64 {
        self.runs.iter().map(|(start, run)| run.end - start).sum()
    }

    /// Returns the number of events that are in this set but not in the other.
    pub(crate) fn len_without(&self, other: &Coverage) -> u64 {
        let mut sum = 0;
        for (start, run) in self.runs.iter() {
            let mut at = *start;
            while let Some(gap) = other.first_gap(at..run.end) {
                sum += gap.end - gap.start;
                at = gap.end;
            }
        }
        sum
    }

    /// Returns the runs: their events, and the first and last clock reading that these can have.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Range<u64>, u64, u64)> {
        self.runs.iter().map(|(start, run)| (*start..run.end, run.base_ticks, run.end_ticks))
    }

    /// Returns the gaps before the first run and between runs: the numbers of the absent events,
    /// and the runs on both sides.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = (Range<u64>, Option<&Run>, &Run)> {
        let before = std::iter::once(None).chain(self.runs.iter().map(|(_, run)| Some(run)));
        self.runs.iter().zip(before).filter_map(|((start, run), before)| {
            let from = before.map_or(0, |before| before.end);
            (from < *start).then_some((from..*start, before, run))
        })
    }

    /// Returns the time interval of each run.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (u64, u64)> {
        self.runs.iter().map(|(_, run)| (run.base_ticks, run.end_ticks))
    }

    /// Returns the number after the last run, and the run.
    pub(crate) fn last(&self) -> Option<(u64, &Run)> {
        self.runs.last().map(|run| (run.end, run))
    }
}

/// Sums that a header states about its lane. They only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HeaderSums {
    pub(crate) lost: Loss,
    pub(crate) excluded: u64,
}

/// The losses and excluded events of a lane, as its blocks state them. The counters only grow, but
/// a part of a block may state them as they were when its block was opened. So the highest sums so
/// far are right.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// By the number of the next event and the sum of the counters.
    marks: Few<(u64, u64), Mark>,
}

/// Blocks that state the same sums.
#[derive(Debug, Clone, Copy)]
struct Mark {
    sums: HeaderSums,
    /// No event of the first of these blocks is later.
    first_end: u64,
    /// No event of the last of these blocks is later.
    last_end: u64,
}

/// An increase of losses or excluded events.
pub(crate) struct Step {
    /// Number of the next event after it.
    pub(crate) before: u64,
    /// End of the last block that states less; none for the first increase.
    pub(crate) from_ticks: Option<u64>,
    /// End of the first block that states it.
    pub(crate) until_ticks: u64,
    /// The difference of the sums.
    pub(crate) change: HeaderSums,
}

impl Losses {
    /// Returns the number of sums that take memory on the heap.
    pub(crate) fn more(&self) -> usize {
        self.marks.more()
    }

    /// Notes the sums of a block, the number of events before it, and the time of its last event.
    ///
    /// If there is no room, sums replace those before them: two increases become one.
    pub(crate) fn note(&mut self, before: u64, end_ticks: u64, sums: HeaderSums, has_room: bool) {
        let sum = sums.lost.events().saturating_add(sums.lost.truncated).saturating_add(sums.excluded);
        let key = (before, sum);
        if let Some(mark) = self.marks.up_to_mut(&key)
            && mark.sums.highest(&sums) == mark.sums
        {
            mark.last_end = mark.last_end.max(end_ticks);
            return;
        }
        let mut mark = Mark { sums, first_end: end_ticks, last_end: end_ticks };
        if let Some((&next, same)) = self.marks.from(&key)
            && same.sums == sums
        {
            mark.last_end = mark.last_end.max(same.last_end);
            self.marks.remove(&next);
        }
        if !has_room && let Some(earlier) = self.marks.up_to(&key).map(|(earlier, _)| *earlier) {
            self.marks.remove(&earlier);
        }
        self.marks.insert(key, mark);
    }

    /// Returns the latest sums.
    pub(crate) fn total(&self) -> HeaderSums {
        self.marks.iter().fold(HeaderSums::default(), |sum, (_, mark)| sum.highest(&mark.sums))
    }

    /// Returns all sums: the number of events before the block, the sums, and the ends of the first
    /// and the last block that state them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, &HeaderSums, u64, u64)> {
        self.marks.iter().map(|((before, _), mark)| (*before, &mark.sums, mark.first_end, mark.last_end))
    }

    /// Returns all increases, in the order of the lane.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Step> {
        let (mut sum, mut less) = (HeaderSums::default(), None::<&Mark>);
        self.marks.iter().filter_map(move |((before, _), mark)| {
            let change = mark.sums.each(&sum, u64::saturating_sub);
            let until_ticks = mark.first_end;
            // Blocks may come in another order than they were written. Then the last block that
            // states less may be one that states the sums of the time when it was opened, and is
            // later.
            let from_ticks = less.map(|less| match less.last_end <= until_ticks {
                true => less.last_end,
                false => less.first_end.min(until_ticks),
            });
            let step = Step { before: *before, from_ticks, until_ticks, change };
            sum = sum.highest(&mark.sums);
            less = Some(mark);
            (change != HeaderSums::default()).then_some(step)
        })
    }
}

impl HeaderSums {
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
