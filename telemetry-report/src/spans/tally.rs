//! Statistics of paired spans.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::found::{End, Found, Which};
use super::gaps::Gaps;
use super::roles::Def;
use crate::figures::distribution::Distribution;

/// The maximum of unmatched begins and ends that are listed. The rest is counted.
const MAX_LISTED: usize = 10_000;

/// The statistics of all spans.
pub struct Tally {
    /// By number of the span.
    pub spans: Vec<SpanTally>,
    pub top: usize,
    longest: BinaryHeap<Reverse<Long>>,
    /// The first that were found, in that order.
    pub unmatched: Vec<Unmatched>,
}

/// The statistics of spans with one name.
#[derive(Default)]
pub struct SpanTally {
    pub durations: Distribution,
    pub selfs: Distribution,
    pub total_ns: i64,
    pub total_self_ns: i64,
    pub uncertain: u64,
    pub no_end: u64,
    pub no_begin: u64,
    pub begins_dropped: u64,
}

/// One of the longest spans.
pub struct Long {
    pub which: Which,
    pub begin: End,
    pub end: End,
    pub self_ns: i64,
    pub is_certain: bool,
}

/// A begin without end, or an end without begin.
pub struct Unmatched {
    pub which: Which,
    pub at: End,
    pub is_begin: bool,
    /// Its other half cannot have been lost.
    pub is_certain: bool,
}

impl Tally {
    /// Keeps at most `top` of the longest spans.
    pub fn new(top: usize) -> Tally {
        Tally { spans: Vec::new(), top, longest: BinaryHeap::new(), unmatched: Vec::new() }
    }

    pub fn add(&mut self, found: Found, defs: &[Def], gaps: &Gaps) {
        self.spans.resize_with(defs.len(), SpanTally::default);
        match found {
            Found::Whole { which, begin, end, self_ns, .. } => {
                let is_certain = gaps.are_not_in(&defs[which.def], &which, &begin, &end);
                let span = &mut self.spans[which.def];
                let duration_ns = end.since(&begin);
                span.durations.add_signed(duration_ns);
                span.selfs.add_signed(self_ns);
                span.total_ns = span.total_ns.saturating_add(duration_ns);
                span.total_self_ns = span.total_self_ns.saturating_add(self_ns);
                span.uncertain += u64::from(!is_certain);
                self.keep(Long { which, begin, end, self_ns, is_certain });
            }
            Found::NoEnd(which, at, _) => {
                self.spans[which.def].no_end += 1;
                let is_certain = gaps.are_none(&defs[which.def], &which, at.thread, at.ticks, u64::MAX);
                self.list(Unmatched { which, at, is_begin: true, is_certain });
            }
            Found::NoBegin(which, at) => {
                self.spans[which.def].no_begin += 1;
                let is_certain = gaps.are_none(&defs[which.def], &which, at.thread, 0, at.ticks);
                self.list(Unmatched { which, at, is_begin: false, is_certain });
            }
            Found::Begun(..) => {}
            Found::Dropped(which, _) => self.spans[which.def].begins_dropped += 1,
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
        if self.unmatched.len() < MAX_LISTED {
            self.unmatched.push(unmatched);
        }
    }

    /// Returns the longest spans, the longest first.
    pub fn longest(&self) -> Vec<&Long> {
        let mut longest: Vec<_> = self.longest.iter().map(|Reverse(long)| long).collect();
        longest.sort_by(|a, b| b.cmp(a));
        longest
    }
}

impl Long {
    pub fn duration_ns(&self) -> i64 {
        self.end.since(&self.begin)
    }

    /// Orders spans by length; of two equal ones, the earlier comes first.
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
