//! Events of a lane that follow each other.

use serde::{Deserialize, Serialize};

/// Consecutive events of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The number of the first event.
    pub from: u64,
    /// The number after the last event.
    pub until: u64,
    /// The time of the first event, in nanoseconds since 1970.
    pub from_ns: i64,
    /// The time of the last event.
    pub until_ns: i64,
}

/// Joins sorted ranges that have no events between them.
pub(crate) fn join(ranges: &mut Vec<Range>) {
    ranges.dedup_by(|next, range| {
        let is_next = next.from <= range.until;
        if is_next {
            range.until = range.until.max(next.until);
            range.from_ns = range.from_ns.min(next.from_ns);
            range.until_ns = range.until_ns.max(next.until_ns);
        }
        is_next
    });
}

/// Returns the number of events in ranges.
pub(crate) fn events_in(ranges: &[Range]) -> u64 {
    ranges.iter().map(|range| range.until - range.from).sum()
}

/// The most ranges of events that a shipper did not send. Segments need little space to state them.
const MAX_TOLD: usize = 1 << 14;

/// Adds a range to sorted ranges with others between them. If there are too many, it is left out,
/// and its events count as a hole.
pub(crate) fn add(ranges: &mut Vec<Range>, range: Range) {
    if range.from >= range.until {
        return;
    }
    // The ranges that it joins.
    let first = ranges.partition_point(|known| known.until < range.from);
    let behind = first + ranges[first..].partition_point(|known| known.from <= range.until);
    let mut all = range;
    for known in &ranges[first..behind] {
        (all.from, all.until) = (all.from.min(known.from), all.until.max(known.until));
        (all.from_ns, all.until_ns) = (all.from_ns.min(known.from_ns), all.until_ns.max(known.until_ns));
    }
    if first < behind || ranges.len() < MAX_TOLD {
        ranges.splice(first..behind, [all]);
    }
}

/// Returns the events that are not in other ranges, which have no event twice.
pub(crate) fn without(ranges: &[Range], others: &[Range]) -> Vec<Range> {
    let mut left = Vec::new();
    for range in ranges {
        let mut from = range.from;
        let next = others.partition_point(|other| other.until <= from);
        for other in others[next..].iter().take_while(|other| other.from < range.until) {
            if from < other.from {
                left.push(Range { from, until: other.from, ..*range });
            }
            from = other.until;
        }
        if from < range.until {
            left.push(Range { from, ..*range });
        }
    }
    left
}

/// Sorts ranges that have no event twice.
pub(crate) fn in_order(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable_by_key(|range| range.from);
    ranges
}
