//! Which segments are in no batch yet, and which of them the next batch has.

use std::collections::BTreeMap;
use std::pin::pin;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use telemetry_fleet::segment::SegmentName;

use crate::delta::now_ms;
use crate::lake::{AT_ONCE, Lake, Result, number};

/// A plan that is older than a segment, or than an event, by more than this does not have it.
pub(crate) const SLACK_MS: i64 = 86_400_000;

/// The most bytes of a session's segments in a batch. All of them are in memory together.
pub(crate) const MAX_BYTES: u64 = 256 << 20;

/// A segment in the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored {
    /// Its length.
    pub(crate) bytes: u64,
    /// When the store got it, by its clock, in milliseconds since 1970.
    pub(crate) at_ms: i64,
}

/// The segments in the store.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// In no plan, by name.
    pub(crate) new: BTreeMap<String, Stored>,
    /// In a plan.
    pub(crate) planned: Vec<String>,
}

/// Finds out which segments of the store are in one of the plans until `last`.
///
/// A lake has more plans each day, so only those are read that can have such a segment. The clock
/// of the store may be set back. Then a segment may be planned again, once, and its rows are found
/// to be there.
pub(crate) async fn segments(lake: &Lake, last: u64) -> Result<Segments> {
    let mut listed = lake.store.listed("segments").await?;
    listed.retain(|listed| listed.name.parse::<SegmentName>().is_ok());
    let mut segments = Segments::default();
    let Some(mut oldest) = listed.iter().map(|listed| listed.modified_ms).min() else { return Ok(segments) };
    // A time that is still to come tells nothing about the plan.
    if oldest > now_ms() as i64 {
        oldest = 0;
    }
    let stored = |bytes, at_ms| Stored { bytes, at_ms };
    segments.new.extend(listed.into_iter().map(|of| (of.name, stored(of.bytes, of.modified_ms))));
    let mut plans = lake.store.listed("batches").await?;
    plans.retain(|plan| plan.modified_ms.saturating_add(SLACK_MS) >= oldest);
    let batches = plans.iter().filter_map(|plan| number(&plan.name)).filter(|batch| *batch <= last);
    let mut plans = pin!(stream::iter(batches).map(|batch| lake.plan(batch)).buffered(AT_ONCE));
    while let Some(plan) = plans.try_next().await? {
        let known = plan.segments.into_iter().filter(|name| segments.new.remove(name).is_some());
        segments.planned.extend(known);
    }
    Ok(segments)
}

impl Lake {
    /// Returns the segments that are not committed. Those of a batch that was begun wait, too.
    pub(crate) async fn waiting(&self) -> Result<Vec<SegmentName>> {
        let last = self.last_batch().await?;
        let done = if self.done(last).await?.is_some() { last } else { last.saturating_sub(1) };
        let new = segments(self, done).await?.new;
        Ok(new.keys().filter_map(|name| name.parse().ok()).collect())
    }
}

/// Chooses segments for a batch: at most this many, and of each session no more than a batch may
/// have.
pub(crate) fn choose(new: BTreeMap<String, Stored>, most: usize) -> Vec<(String, Stored)> {
    // The bytes of each session; `None` if no more fit.
    let mut sessions = BTreeMap::<_, Option<u64>>::new();
    let fits = |(text, stored): (String, Stored)| {
        let (name, bytes) = (text.parse::<SegmentName>().ok()?, stored.bytes);
        let sum = sessions.entry((name.host, name.session)).or_insert(Some(0));
        // One alone is always taken. After one that does not fit, none is, so they stay in order.
        *sum = sum
            .map(|sum| (sum, sum.saturating_add(bytes)))
            .filter(|(sum, with)| *sum == 0 || *with <= MAX_BYTES)
            .map(|(_, with)| with);
        sum.is_some().then_some((text, stored))
    };
    new.into_iter().filter_map(fits).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_no_more_of_a_session_than_fits() {
        let name = |session, start_ns| {
            SegmentName { host: "h7".parse().unwrap(), session, start_ns, intervals: 1 }.to_string()
        };
        let check = |parts: &[(u64, u64, u64)], most: usize, wanted: &[(u64, u64)]| {
            let stored = |(session, part, mib): &(u64, u64, u64)| {
                (name(*session, *part), Stored { bytes: mib << 20, at_ms: 0 })
            };
            let new = parts.iter().map(stored).collect();
            let wanted: Vec<_> = wanted.iter().map(|(session, part)| name(*session, *part)).collect();
            let chosen = choose(new, most).into_iter().map(|(name, _)| name);
            assert_eq!(chosen.collect::<Vec<_>>(), wanted);
        };
        check(&[(1, 1, 8), (1, 2, 8), (2, 1, 8)], 9, &[(1, 1), (1, 2), (2, 1)]);
        check(&[(1, 1, 8), (1, 2, 8), (2, 1, 8)], 2, &[(1, 1), (1, 2)]);
        // The third does not fit, and the fourth waits for it.
        check(&[(1, 1, 128), (1, 2, 128), (1, 3, 1), (1, 4, 0), (2, 1, 8)], 9, &[(1, 1), (1, 2), (2, 1)]);
        // One that is longer is alone.
        check(&[(1, 1, 300), (1, 2, 1), (2, 1, 300)], 9, &[(1, 1), (2, 1)]);
    }
}
