//! Numbers of events over time, in memory that does not grow with the time.

use serde_json::value::RawValue;

/// The maximum of intervals that are counted.
const MAX_INTERVALS: i64 = 512;

/// Characters of a sparkline.
const COLUMNS: usize = 60;

/// Counts of events in equal intervals. If there would be too many intervals, their length doubles.
#[derive(Debug, Clone, Default)]
pub struct Rate {
    /// An interval takes 2 to the power of this nanoseconds.
    shift: u32,
    /// Number of the first counted interval, from time 0.
    first: i64,
    counts: Vec<u64>,
}

/// The counts for output.
#[derive(Debug)]
pub struct Counts {
    pub from_ns: i64,
    /// Length of each interval.
    pub width_ns: u64,
    pub counts: Vec<u64>,
}

/// Counts as a line of characters.
#[derive(Debug)]
pub struct Sparkline {
    pub line: String,
    /// The highest count.
    pub highest: u64,
}

impl Rate {
    /// Counts an event.
    #[inline]
    pub fn add(&mut self, ns: i64) {
        let index = (ns >> self.shift).wrapping_sub(self.first);
        match usize::try_from(index).ok().and_then(|index| self.counts.get_mut(index)) {
            Some(count) => *count += 1,
            None => self.add_beyond(ns),
        }
    }

    #[cold]
    fn add_beyond(&mut self, ns: i64) {
        // The end of an interval must be a number too.
        let ns = ns.min(i64::MAX - 1);
        if self.counts.is_empty() {
            (self.first, self.counts) = (ns >> self.shift, vec![0]);
        }
        loop {
            let (at, end) = (ns >> self.shift, self.first.saturating_add(self.counts.len() as i64));
            let (first, end) = (self.first.min(at), end.max(at.saturating_add(1)));
            if end.saturating_sub(first) <= MAX_INTERVALS {
                let before = (self.first - first) as usize;
                self.counts.splice(..0, std::iter::repeat_n(0, before));
                self.counts.resize((end - first) as usize, 0);
                self.first = first;
                self.counts[(at - first) as usize] += 1;
                return;
            }
            self.widen();
        }
    }

    /// Adds the events of another rate. The result is the same as if they had been counted here.
    pub fn merge(&mut self, other: &Rate) {
        if other.counts.is_empty() {
            return;
        }
        let mut other = other.clone();
        if self.counts.is_empty() {
            *self = other;
            return;
        }
        let end = |rate: &Rate| rate.first.saturating_add(rate.counts.len() as i64);
        loop {
            let (first, end) = (self.first.min(other.first), end(self).max(end(&other)));
            if self.shift == other.shift && end.saturating_sub(first) <= MAX_INTERVALS {
                let mut counts = vec![0; (end - first) as usize];
                for rate in [&*self, &other] {
                    let counts = &mut counts[(rate.first - first) as usize..];
                    counts.iter_mut().zip(&rate.counts).for_each(|(sum, count)| *sum += count);
                }
                (self.first, self.counts) = (first, counts);
                return;
            }
            let narrower = if self.shift <= other.shift { &mut *self } else { &mut other };
            narrower.widen();
        }
    }

    /// Merges each two neighboring intervals.
    fn widen(&mut self) {
        let start = self.first & 1;
        let mut counts = vec![0; (self.counts.len() + start as usize).div_ceil(2)];
        for (index, count) in self.counts.iter().enumerate() {
            counts[(index + start as usize) / 2] += count;
        }
        (self.shift, self.first, self.counts) = (self.shift + 1, self.first >> 1, counts);
    }

    /// Returns these counts over the time of another rate, for comparison.
    pub fn over(&self, other: &Rate) -> Counts {
        if self.counts.is_empty() {
            let counts = vec![0; other.counts.len()];
            return Counts { from_ns: other.first << other.shift, width_ns: 1 << other.shift, counts };
        }
        let mut own = self.clone();
        while own.shift < other.shift {
            own.widen();
        }
        let before = (own.first - other.first).max(0) as usize;
        let mut counts = vec![0; before];
        counts.extend_from_slice(&own.counts);
        counts.resize(other.counts.len(), 0);
        Counts { from_ns: other.first << other.shift, width_ns: 1 << other.shift, counts }
    }
}

impl Rate {
    /// Adds some rates over the time of another.
    pub fn sum<'r>(rates: impl Iterator<Item = &'r Rate>, other: &Rate) -> Counts {
        let mut sum = Rate::default().over(other);
        for rate in rates {
            let counts = rate.over(other).counts;
            sum.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        sum
    }
}

impl Counts {
    /// Returns as many intervals as a sparkline has columns.
    pub fn columns(&self) -> Counts {
        let each = self.counts.len().div_ceil(COLUMNS).max(1);
        let counts = self.counts.chunks(each).map(|counts| counts.iter().sum()).collect();
        Counts { from_ns: self.from_ns, width_ns: self.width_ns.saturating_mul(each as u64), counts }
    }

    /// Formats each interval as a character.
    pub fn sparkline(&self) -> Sparkline {
        const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let highest = self.counts.iter().copied().max().unwrap_or(0);
        let level = |count: &u64| match *count {
            0 => ' ',
            count => LEVELS[((u128::from(count) * 8).div_ceil(u128::from(highest)) as usize).clamp(1, 8) - 1],
        };
        Sparkline { line: self.counts.iter().map(level).collect(), highest }
    }

    /// Formats the counts as JSON.
    pub fn on_one_line(&self) -> Box<RawValue> {
        // Numbers serialize.
        serde_json::value::to_raw_value(&self.counts).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(moments: &[i64]) -> Rate {
        let mut rate = Rate::default();
        moments.iter().for_each(|ns| rate.add(*ns));
        rate
    }

    #[test]
    fn nothing_is_lost_whatever_the_times() {
        let table: [&[i64]; 6] = [
            &[0],
            &[5, 4, 3, 3, 3],
            &[0, 511, 512, 513, -1],
            &[i64::MAX, 0, i64::MIN],
            &[i64::MIN, i64::MAX],
            &[-1_000_000_007, 3, 999_999_999_999],
        ];
        for moments in table {
            let rate = rate(moments);
            let counts = rate.over(&rate);
            assert_eq!(counts.counts.iter().sum::<u64>(), moments.len() as u64, "{moments:?}");
            assert!(counts.counts.len() <= MAX_INTERVALS as usize, "{moments:?}");
            assert!(counts.from_ns <= *moments.iter().min().unwrap(), "{moments:?}");
        }
    }

    #[test]
    fn merged_rates_are_as_if_counted_at_once() {
        let table: [(&[i64], &[i64]); 6] = [
            (&[], &[]),
            (&[5], &[]),
            (&[5, 7, 900], &[3]),
            (&[0, 511], &[512, 1023, 70_000]),
            (&[i64::MIN], &[i64::MAX, 0]),
            (&[-1_000_000_007], &[3, 999_999_999_999]),
        ];
        for (one, two) in table {
            let both = rate(&[one, two].concat());
            for (one, two) in [(one, two), (two, one)] {
                let mut merged = rate(one);
                merged.merge(&rate(two));
                let parts = |rate: &Rate| (rate.shift, rate.first, rate.counts.clone());
                assert_eq!(parts(&merged), parts(&both), "{one:?} {two:?}");
            }
        }
    }

    #[test]
    fn a_sparkline_shows_what_there_was() {
        let moments: Vec<i64> = (0..8).flat_map(|n| std::iter::repeat_n(n * 10, n as usize)).collect();
        let all = rate(&moments);
        let columns = all.over(&all).columns();
        let Sparkline { line, highest } = columns.sparkline();
        assert_eq!((line.chars().count(), highest, columns.width_ns), (31, 7, 2));
        assert!(line.ends_with('█') && line.contains('▂'), "{line}");
        let last = rate(&[70]);
        let counts = last.over(&all);
        assert_eq!((counts.counts.len(), counts.counts.last()), (all.counts.len(), Some(&1)));
    }
}
