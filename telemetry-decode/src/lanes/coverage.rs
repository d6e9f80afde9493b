//! Which events of a lane were read. Blocks may come in any order.

use std::ops::Range;

use crate::lanes::few::Few;

/// A set of events of a lane, by their number in the lane. It takes memory only for its gaps.
#[derive(Debug, Clone, Default)]
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

    /// Returns the parts of `range` that are not in the set, in order.
    pub(crate) fn gaps_in(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            let gap = self.first_gap(at..range.end)?;
            at = gap.end;
            Some(gap)
        })
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
        let absent = self.runs.iter().flat_map(|(start, run)| other.gaps_in(*start..run.end));
        absent.map(|gap| gap.end - gap.start).sum()
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
