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
