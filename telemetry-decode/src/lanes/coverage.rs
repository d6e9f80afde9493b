//! Which events of a lane were read, and where it lost or excluded some: in whatever order its blocks come.

use std::ops::Range;

use telemetry_format::Loss;

use crate::lanes::few::Few;

/// A set of events of a lane, by their number in it. As small as its gaps are few.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// By first number.
    runs: Few<u64, Run>,
}

/// Events without a gap between them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// Number behind the last.
    end: u64,
    /// No event of it is earlier.
    pub(crate) base_ticks: u64,
    /// No event of it is later.
    pub(crate) end_ticks: u64,
    /// No event before it is later.
    pub(crate) behind_ticks: u64,
}

impl Coverage {
    /// The first stretch of `range` that is not in the set.
    pub(crate) fn first_gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        let start = match self.runs.up_to(&range.start) {
            Some((_, run)) => run.end.max(range.start),
            None => range.start,
        };
        let end = self.runs.from(&start).map_or(range.end, |(next, _)| range.end.min(*next));
        (start < end).then_some(start..end)
    }

    /// Adds a stretch that is not in the set, of a block with these times.
    pub(crate) fn add(&mut self, range: Range<u64>, base_ticks: u64, end_ticks: u64) {
        self.add_behind(range, base_ticks, end_ticks, base_ticks);
    }

    /// The same of a part of a block: what is before it may be later than the block's beginning, but not than
    /// `behind_ticks`.
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

    /// Number of events in the set.
    pub(crate) fn len(&self) -> u64 {
        self.runs.iter().map(|(start, run)| run.end - start).sum()
    }

    /// Number of events in the set that are not in the other.
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

    /// Every run: its events, and the first and last clock reading that they can have.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Range<u64>, u64, u64)> {
        self.runs.iter().map(|(start, run)| (*start..run.end, run.base_ticks, run.end_ticks))
    }

    /// Stretches between the runs, and before the first: the number of their events, and the runs on
    /// both sides.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = (Range<u64>, Option<&Run>, &Run)> {
        let before = std::iter::once(None).chain(self.runs.iter().map(|(_, run)| Some(run)));
        self.runs.iter().zip(before).filter_map(|((start, run), before)| {
            let from = before.map_or(0, |before| before.end);
            (from < *start).then_some((from..*start, before, run))
        })
    }

    /// Clock readings that each run lies between.
    pub(crate) fn stretches(&self) -> impl Iterator<Item = (u64, u64)> {
        self.runs.iter().map(|(_, run)| (run.base_ticks, run.end_ticks))
    }

    /// The last run and the number behind it.
    pub(crate) fn last(&self) -> Option<(u64, &Run)> {
        self.runs.last().map(|run| (run.end, run))
    }
}

/// What a header tells of its lane beside its own events: sums that only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Told {
    pub(crate) lost: Loss,
    pub(crate) excluded: u64,
}

/// What a lane had lost and excluded, as its blocks tell it. The counters only grow, but a part of a block
/// may tell them as they were when its block was opened: the highest of what came before holds.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    /// By the number of the first event behind it and the sum of the counters.
    marks: Few<(u64, u64), Mark>,
}

/// Blocks that tell the same.
#[derive(Debug, Clone, Copy)]
struct Mark {
    told: Told,
    /// No event of the first of the blocks is later.
    first_end: u64,
    /// No event of the last of the blocks is later.
    last_end: u64,
}

/// More losses than before, or more events excluded.
pub(crate) struct Step {
    /// Number of the first event behind it.
    pub(crate) before: u64,
    /// End of the last block that told less; none if there is none.
    pub(crate) from_ticks: Option<u64>,
    /// End of the first block that tells it.
    pub(crate) until_ticks: u64,
    /// What was lost or excluded between the two.
    pub(crate) told: Told,
}

impl Losses {
    /// Notes what a block tells: events before it, the time of its last, the counters.
    pub(crate) fn note(&mut self, before: u64, end_ticks: u64, told: Told) {
        let sum = told.lost.events().saturating_add(told.lost.truncated).saturating_add(told.excluded);
        let key = (before, sum);
        if let Some(mark) = self.marks.up_to_mut(&key)
            && mark.told.highest(&told) == mark.told
        {
            mark.last_end = mark.last_end.max(end_ticks);
            return;
        }
        let mut mark = Mark { told, first_end: end_ticks, last_end: end_ticks };
        if let Some((&next, same)) = self.marks.from(&key)
            && same.told == told
        {
            mark.last_end = mark.last_end.max(same.last_end);
            self.marks.remove(&next);
        }
        self.marks.insert(key, mark);
    }

    /// All that was lost and excluded.
    pub(crate) fn total(&self) -> Told {
        self.marks.iter().fold(Told::default(), |sum, (_, mark)| sum.highest(&mark.told))
    }

    /// All that was told: events before the block, sums, and the ends of the first and the last block that tell it.
    pub(crate) fn told(&self) -> impl Iterator<Item = (u64, &Told, u64, u64)> {
        self.marks.iter().map(|((before, _), mark)| (*before, &mark.told, mark.first_end, mark.last_end))
    }

    /// What was lost and excluded when, in the order of the lane.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Step> {
        let (mut sum, mut less) = (Told::default(), None::<&Mark>);
        self.marks.iter().filter_map(move |((before, _), mark)| {
            let told = mark.told.each(&sum, u64::saturating_sub);
            let until_ticks = mark.first_end;
            // If blocks came in another order than they were written, the last that tells less may be one that
            // tells what was known when its block was opened, and is later.
            let from_ticks = less.map(|less| match less.last_end <= until_ticks {
                true => less.last_end,
                false => less.first_end.min(until_ticks),
            });
            let step = Step { before: *before, from_ticks, until_ticks, told };
            sum = sum.highest(&mark.told);
            less = Some(mark);
            (told != Told::default()).then_some(step)
        })
    }
}

impl Told {
    pub(crate) fn sum(&self, other: &Told) -> Told {
        self.each(other, u64::saturating_add)
    }

    pub(crate) fn highest(&self, other: &Told) -> Told {
        self.each(other, u64::max)
    }

    fn each(&self, other: &Told, f: fn(u64, u64) -> u64) -> Told {
        let (a, b) = (&self.lost, &other.lost);
        Told {
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
