//! What is kept of the spans that were found.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::gaps::Gaps;
use super::pairing::{Def, End, Found, Which};
use crate::distribution::Distribution;

/// Most unmatched begins and ends that are listed; the rest are counted.
const MOST_LISTED: usize = 10_000;

/// What is kept.
pub(in crate::commands) struct Tally {
    /// By number of the span.
    pub(in crate::commands) spans: Vec<SpanTally>,
    pub(in crate::commands) top: usize,
    longest: BinaryHeap<Reverse<Long>>,
    /// Those found first, in the order in which they were.
    pub(in crate::commands) unmatched: Vec<Unmatched>,
}

/// What is kept of the spans of one sort.
#[derive(Default)]
pub(in crate::commands) struct SpanTally {
    pub(in crate::commands) durations: Distribution,
    pub(in crate::commands) selfs: Distribution,
    pub(in crate::commands) total_ns: i64,
    pub(in crate::commands) total_self_ns: i64,
    pub(in crate::commands) uncertain: u64,
    pub(in crate::commands) no_end: u64,
    pub(in crate::commands) no_begin: u64,
    pub(in crate::commands) given_up: u64,
}

/// One of the longest.
pub(in crate::commands) struct Long {
    pub(in crate::commands) which: Which,
    pub(in crate::commands) begin: End,
    pub(in crate::commands) end: End,
    pub(in crate::commands) self_ns: i64,
    pub(in crate::commands) is_certain: bool,
}

/// A begin without end, or an end without begin.
pub(in crate::commands) struct Unmatched {
    pub(in crate::commands) which: Which,
    pub(in crate::commands) at: End,
    pub(in crate::commands) is_begin: bool,
    /// Its other half cannot have been lost.
    pub(in crate::commands) is_certain: bool,
}

impl Tally {
    /// Keeps so many of the longest.
    pub(in crate::commands) fn new(top: usize) -> Tally {
        Tally { spans: Vec::new(), top, longest: BinaryHeap::new(), unmatched: Vec::new() }
    }

    pub(in crate::commands) fn add(&mut self, found: Found, defs: &[Def], gaps: &Gaps) {
        self.spans.resize_with(defs.len(), SpanTally::default);
        match found {
            Found::Whole { which, begin, end, self_ns } => {
                let is_certain = gaps.are_not_in(&defs[which.def], &which, &begin, &end);
                let span = &mut self.spans[which.def];
                let duration_ns = end.ns.saturating_sub(begin.ns);
                span.durations.add(duration_ns);
                span.selfs.add(self_ns);
                span.total_ns = span.total_ns.saturating_add(duration_ns);
                span.total_self_ns = span.total_self_ns.saturating_add(self_ns);
                span.uncertain += u64::from(!is_certain);
                self.keep(Long { which, begin, end, self_ns, is_certain });
            }
            Found::NoEnd(which, at) => {
                self.spans[which.def].no_end += 1;
                let is_certain = gaps.are_none(&defs[which.def], &which, at.thread, at.ticks, u64::MAX);
                self.list(Unmatched { which, at, is_begin: true, is_certain });
            }
            Found::NoBegin(which, at) => {
                self.spans[which.def].no_begin += 1;
                let is_certain = gaps.are_none(&defs[which.def], &which, at.thread, 0, at.ticks);
                self.list(Unmatched { which, at, is_begin: false, is_certain });
            }
            Found::GivenUp(which) => self.spans[which.def].given_up += 1,
        }
    }

    fn keep(&mut self, long: Long) {
        if self.longest.len() < self.top {
            self.longest.push(Reverse(long));
        } else if let Some(mut least) = self.longest.peek_mut()
            && least.0 < long
        {
            least.0 = long;
        }
    }

    fn list(&mut self, unmatched: Unmatched) {
        if self.unmatched.len() < MOST_LISTED {
            self.unmatched.push(unmatched);
        }
    }

    /// The longest spans, the longest first.
    pub(in crate::commands) fn longest(&self) -> Vec<&Long> {
        let mut longest: Vec<_> = self.longest.iter().map(|Reverse(long)| long).collect();
        longest.sort_by(|a, b| b.cmp(a));
        longest
    }

    /// True if a begin or an end stands alone.
    pub(in crate::commands) fn has_unmatched(&self) -> bool {
        self.spans.iter().any(|span| span.no_end + span.no_begin + span.given_up > 0)
    }
}

impl Long {
    pub(in crate::commands) fn duration_ns(&self) -> i64 {
        self.end.ns.saturating_sub(self.begin.ns)
    }

    /// Of those of one length, the earlier is listed first.
    fn rank(&self) -> (i64, Reverse<i64>, Reverse<u64>) {
        (self.duration_ns(), Reverse(self.begin.ns), Reverse(self.which.session))
    }
}

impl Ord for Long {
    fn cmp(&self, other: &Long) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Long {
    fn partial_cmp(&self, other: &Long) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Long {
    fn eq(&self, other: &Long) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Long {}
