//! Numbers by time, of which the last seconds are kept.

use std::collections::VecDeque;
use std::ops::Range;

use hashbrown::HashMap;

/// The time of an interval.
pub(super) const WIDTH_NS: i64 = 250_000_000;
/// The intervals that are kept: 16 s.
const KEPT: usize = 64;

/// Returns the number of the interval of a time.
pub(super) fn interval(ns: i64) -> i64 {
    ns.div_euclid(WIDTH_NS)
}

/// Counts in the last intervals.
pub(super) struct Counts {
    newest: i64,
    counts: [u64; KEPT],
}

impl Default for Counts {
    fn default() -> Self {
        Counts { newest: i64::MIN, counts: [0; KEPT] }
    }
}

impl Counts {
    /// Adds to an interval. One that is too old is not kept.
    #[inline]
    pub(super) fn add(&mut self, interval: i64, number: u64) {
        if interval > self.newest {
            self.move_to(interval);
        }
        if self.newest.saturating_sub(interval) < KEPT as i64 {
            self.counts[interval.rem_euclid(KEPT as i64) as usize] += number;
        }
    }

    #[cold]
    fn move_to(&mut self, interval: i64) {
        let new = interval.saturating_sub(self.newest).min(KEPT as i64);
        for at in interval - new + 1..=interval {
            self.counts[at.rem_euclid(KEPT as i64) as usize] = 0;
        }
        self.newest = interval;
    }

    /// Returns the sum of some intervals, as far as they are kept.
    pub(super) fn sum(&self, intervals: &Range<i64>) -> u64 {
        let first = intervals.start.max(self.newest.saturating_sub(KEPT as i64 - 1));
        let end = intervals.end.min(self.newest.saturating_add(1));
        (first..end).map(|at| self.counts[at.rem_euclid(KEPT as i64) as usize]).sum()
    }
}

/// Durations in the last intervals, by buckets of 6 %.
#[derive(Default)]
pub(super) struct Durations {
    /// By number of the interval.
    intervals: VecDeque<(i64, HashMap<u16, u32>, i64)>,
}

/// Buckets for each power of two.
const PER_POWER: u32 = 16;

/// The percentiles of durations in nanoseconds. Each is at most 4 % wrong; the longest is exact.
#[derive(Clone, Copy, Default)]
pub(super) struct Percentiles {
    pub(super) count: u64,
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

impl Durations {
    /// Adds a duration to an interval.
    pub(super) fn add(&mut self, interval: i64, ns: i64) {
        let at = self.intervals.partition_point(|(known, ..)| *known < interval);
        if self.intervals.get(at).is_none_or(|(known, ..)| *known != interval) {
            self.intervals.insert(at, (interval, HashMap::new(), 0));
        }
        let (_, counts, longest) = &mut self.intervals[at];
        let count = counts.entry(bucket(ns)).or_default();
        *count = count.saturating_add(1);
        *longest = ns.max(*longest);
        if self.intervals.len() > KEPT {
            self.intervals.pop_front();
        }
    }

    /// Returns the percentiles of some intervals.
    pub(super) fn percentiles(&self, intervals: &Range<i64>) -> Percentiles {
        let mut all = HashMap::<u16, u64>::new();
        let mut longest = 0;
        for (_, counts, max) in self.intervals.iter().filter(|(at, ..)| intervals.contains(at)) {
            counts.iter().for_each(|(bucket, count)| *all.entry(*bucket).or_default() += u64::from(*count));
            longest = longest.max(*max);
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_unstable();
        let count: u64 = all.iter().map(|(_, count)| count).sum();
        let at = |share: f64| {
            let mut left = ((share * count as f64).ceil() as u64).max(1);
            let found = all.iter().find(|(_, count)| {
                let is_here = left <= *count;
                left = left.saturating_sub(*count);
                is_here
            });
            found.map_or(0.0, |(bucket, _)| middle(*bucket).min(longest as f64))
        };
        Percentiles { count, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: longest as f64 }
    }
}

/// Returns the bucket of a duration. Those below 16 ns have one each.
fn bucket(ns: i64) -> u16 {
    let ns = u64::try_from(ns).unwrap_or(0);
    if ns < u64::from(PER_POWER) {
        return ns as u16;
    }
    let below = ns.ilog2() - PER_POWER.ilog2();
    (below * PER_POWER) as u16 + (ns >> below) as u16
}

/// Returns the middle of a bucket.
fn middle(bucket: u16) -> f64 {
    let bucket = u32::from(bucket);
    if bucket < 2 * PER_POWER {
        return bucket.into();
    }
    let below = bucket / PER_POWER - 1;
    let first = u64::from(bucket - below * PER_POWER) << below;
    (first + (1 << below) / 2) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_intervals_are_counted() {
        let mut counts = Counts::default();
        for (interval, number) in [(-70, 1), (-3, 2), (0, 4), (5, 8), (4, 16), (-60, 32)] {
            counts.add(interval, number);
        }
        for (intervals, sum) in [(-100..100, 30), (-3..1, 6), (0..5, 20), (5..6, 8), (6..50, 0), (1..1, 0)] {
            assert_eq!(counts.sum(&intervals), sum, "{intervals:?}");
        }
        counts.add(5 + 2 * KEPT as i64, 64);
        assert_eq!(counts.sum(&(-100..1000)), 64);
        for interval in [i64::MIN, i64::MAX] {
            counts.add(interval, 1);
        }
        assert_eq!(counts.sum(&(i64::MIN..i64::MAX)), 0, "the end of a range is not in it");
    }

    #[test]
    fn percentiles_are_within_4_percent() {
        let mut durations = Durations::default();
        for ns in 1..=100_000 {
            durations.add(ns % 7, ns);
        }
        let found = durations.percentiles(&(0..7));
        assert_eq!((found.count, found.max), (100_000, 100_000.0));
        for (found, exact) in [(found.p50, 50_000.0), (found.p90, 90_000.0), (found.p99, 99_000.0)] {
            assert!((found / exact - 1.0_f64).abs() <= 0.032, "{found}, expected {exact}");
        }
        assert_eq!(durations.percentiles(&(7..9)).count, 0);
        for ns in [i64::MIN, 0, 1, 15, 16, 17, 31, 32, 33, 1 << 40, i64::MAX] {
            let (middle, ns) = (middle(bucket(ns)), ns.max(0) as f64);
            assert!((middle - ns).abs() <= ns / 32.0, "{middle}, expected {ns}");
        }
    }
}
