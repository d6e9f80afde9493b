//! The most frequent of many values, in little memory.
//!
//! While there are few different values, all counts are exact. With more, a count may be too low,
//! by at most a known error: a thousandth of all values or less (the algorithm of Misra and Gries).
//! So no value that is more frequent can be missed.

use std::hash::Hash;

use hashbrown::HashMap;

/// Different values that are counted at a time.
pub(super) const MAX_VALUES: usize = 1000;

/// Returns the number to subtract from each count, so that not too many are left.
pub(super) fn excess(counts: impl Iterator<Item = u64>) -> u64 {
    let mut counts: Vec<u64> = counts.collect();
    if counts.len() <= MAX_VALUES {
        return 0;
    }
    *counts.select_nth_unstable_by(MAX_VALUES, |a, b| b.cmp(a)).1
}

/// Counts of values.
pub struct Frequent<K> {
    /// Each count plus the error at that time, so that a larger error lowers them all.
    counts: HashMap<K, u64>,
    total: u64,
    /// Each count may be too low by this.
    error: u64,
    /// No entry of `counts` is lower.
    least: u64,
}

impl<K> Default for Frequent<K> {
    fn default() -> Self {
        Frequent { counts: HashMap::new(), total: 0, error: 0, least: u64::MAX }
    }
}

impl<K: Hash + Eq + Ord> Frequent<K> {
    /// Counts a value, and makes its owned form if the value is new.
    #[inline]
    pub fn add<Q>(&mut self, value: &Q)
    where
        Q: ?Sized + Hash + hashbrown::Equivalent<K>,
        K: for<'a> From<&'a Q>,
    {
        self.total += 1;
        if let Some(count) = self.counts.get_mut(value) {
            *count += 1;
        } else if self.counts.len() < MAX_VALUES {
            self.least = self.least.min(self.error + 1);
            self.counts.insert(K::from(value), self.error + 1);
        } else {
            self.make_room();
        }
    }

    /// Subtracts one from each count, to make room for the new value.
    #[cold]
    fn make_room(&mut self) {
        self.error += 1;
        if self.error < self.least {
            return;
        }
        let error = self.error;
        self.counts.retain(|_, count| *count > error);
        self.least = self.counts.values().copied().min().unwrap_or(u64::MAX);
    }

    /// Adds the counts of others, whose values came after these. The error is still at most a
    /// thousandth of all values (Agarwal and others, "Mergeable summaries").
    pub fn merge(&mut self, other: Frequent<K>) {
        let error = self.error;
        let mut counts: HashMap<K, u64> =
            self.counts.drain().map(|(value, count)| (value, count - error)).collect();
        for (value, count) in other.counts {
            *counts.entry(value).or_default() += count - other.error;
        }
        let taken = excess(counts.values().copied());
        counts.retain(|_, count| *count > taken);
        self.total += other.total;
        self.error = error + other.error + taken;
        // A count is kept plus the error.
        let more = self.error - taken;
        counts.values_mut().for_each(|count| *count += more);
        self.least = counts.values().copied().min().unwrap_or(u64::MAX);
        self.counts = counts;
    }

    /// Returns the number of values that were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the amount by which a count may be too low. 0 means that all counts are exact.
    pub fn error(&self) -> u64 {
        self.error
    }

    /// Returns the most frequent values and their counts.
    pub fn top(&self, number: usize) -> Vec<(&K, u64)> {
        let mut all: Vec<_> = self.counts.iter().map(|(value, count)| (value, *count - self.error)).collect();
        all.sort_by(|(a, more), (b, less)| less.cmp(more).then_with(|| a.cmp(b)));
        all.truncate(number);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that is counted by itself.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Number(u64);

    impl From<&Number> for Number {
        fn from(number: &Number) -> Number {
            *number
        }
    }

    #[test]
    fn few_values_are_counted_exactly() {
        let mut frequent = Frequent::<Number>::default();
        for number in 0..10_000 {
            frequent.add(&Number(number % 999));
        }
        assert_eq!((frequent.total(), frequent.error()), (10_000, 0));
        assert_eq!(frequent.top(2), [(&Number(0), 11), (&Number(1), 11)]);
    }

    #[test]
    fn frequent_values_are_found_among_many() {
        let mut frequent = Frequent::<Number>::default();
        let mut exact = 0;
        for number in 0..300_000_u64 {
            // One in ten is the same, all others occur once.
            let is_frequent = number % 10 == 3;
            exact += u64::from(is_frequent);
            frequent.add(&Number(if is_frequent { u64::MAX } else { number }));
        }
        assert!(frequent.error() <= frequent.total() / MAX_VALUES as u64, "{}", frequent.error());
        let (value, count) = frequent.top(1)[0];
        assert_eq!(*value, Number(u64::MAX));
        assert!(count <= exact && exact <= count + frequent.error(), "{count} of {exact}");
        assert!(frequent.counts.len() <= MAX_VALUES);
    }
}
