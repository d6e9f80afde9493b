//! The most frequent of many numbers, with the counts of [`Frequent`](super::frequent::Frequent),
//! but in a table that is fast for numbers.

use hashbrown::HashMap;

use super::frequent::{MAX_VALUES, excess};

/// The table has at most this many places, so at least half of them are free.
const MAX_PLACES: usize = (2 * MAX_VALUES).next_power_of_two();

/// The places of a new table.
const MIN_PLACES: usize = 16;

/// Counts of numbers.
#[derive(Default)]
pub struct FrequentNumbers {
    /// Its length is a power of two, or 0. A number is at the place of its hash, or behind it.
    places: Vec<Place>,
    /// Numbers that came after those in the table, each higher than all before it, so each is new.
    /// New addresses are often such, and need no search of the table. The count of each is 1.
    rising: Vec<u64>,
    /// The highest number; 0 without numbers.
    highest: u64,
    /// The hash of a number is its product with a constant, shifted right by this.
    shift: u32,
    /// How many numbers are in the table.
    used: usize,
    /// The most numbers in a table of this length.
    most: usize,
    /// How many numbers were counted, without `rising`.
    total: u64,
    /// Each count may be too low by this.
    error: u64,
    /// No count in the table is lower.
    least: u64,
    /// Without it, all numbers in the table came once, at the same error.
    has_repeats: bool,
}

/// A number with its count, plus the error when it was added; 0 if the place is free.
#[derive(Clone, Copy, Default)]
struct Place {
    number: u64,
    count: u64,
}

impl FrequentNumbers {
    /// Counts a number.
    #[inline]
    pub fn add(&mut self, number: u64) {
        if number > self.highest && self.used + self.rising.len() < MAX_VALUES {
            self.rising.push(number);
            self.highest = number;
            return;
        }
        self.total += 1;
        if !self.rising.is_empty() {
            if number > self.highest {
                return self.add_beyond(number);
            }
            self.settle();
        }
        let mut at = self.hash(number);
        while let Some(place) = self.places.get_mut(at) {
            if place.count == 0 {
                if self.used == self.most {
                    break;
                }
                // All other counts are above the error, so this one is the least.
                let count = self.error + 1;
                (self.used, self.least) = (self.used + 1, count);
                *place = Place { number, count };
                return;
            }
            if place.number == number {
                place.count += 1;
                self.has_repeats = true;
                return;
            }
            at = (at + 1) & (self.places.len() - 1);
        }
        self.add_beyond(number);
    }

    /// Fibonacci hashing. The search ends after at most all numbers, so bad luck costs only time.
    #[inline(always)]
    fn hash(&self, number: u64) -> usize {
        (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Puts the rising numbers into the table.
    #[inline(never)]
    fn settle(&mut self) {
        let mut rising = std::mem::take(&mut self.rising);
        self.total += rising.len() as u64;
        let all = self.used + rising.len();
        if all > self.most {
            self.rebuild((2 * all).next_power_of_two().clamp(MIN_PLACES, MAX_PLACES));
        }
        let count = self.error + 1;
        rising.drain(..).for_each(|number| self.put(Place { number, count }));
        self.rising = rising;
    }

    /// Adds a number that is not in the table, which is full.
    #[inline]
    fn add_beyond(&mut self, number: u64) {
        if self.used + self.rising.len() == MAX_VALUES {
            // Makes room for the new number by subtracting one from each count.
            self.error += 1;
            if self.error >= self.least || !self.rising.is_empty() {
                self.rebuild(self.places.len().max(MIN_PLACES));
            }
            return;
        }
        self.rebuild((2 * self.places.len()).clamp(MIN_PLACES, MAX_PLACES));
        self.put(Place { number, count: self.error + 1 });
    }

    /// Makes a table of this length of the numbers whose counts are above the error.
    #[cold]
    #[inline(never)]
    fn rebuild(&mut self, len: usize) {
        // Numbers that are all different, such as addresses, leave none, so they are not searched.
        let mut kept = Vec::new();
        if self.has_repeats || self.error < self.least {
            kept.extend(self.places.iter().filter(|place| place.count > self.error));
        }
        if self.used > 0 {
            self.places.fill(Place::default());
        }
        self.total += self.rising.len() as u64;
        self.rising.clear();
        self.places.resize(len, Place::default());
        self.shift = u64::BITS - len.ilog2();
        self.most = (len / 2).min(MAX_VALUES);
        (self.used, self.least, self.highest) = (0, u64::MAX, 0);
        self.has_repeats = !kept.is_empty();
        kept.into_iter().for_each(|place| self.put(place));
    }

    /// Puts a number, which is not in the table, to its place.
    fn put(&mut self, new: Place) {
        let mut at = self.hash(new.number);
        while self.places[at].count > 0 {
            at = (at + 1) & (self.places.len() - 1);
        }
        self.places[at] = new;
        self.used += 1;
        self.least = self.least.min(new.count);
        self.highest = self.highest.max(new.number);
    }

    /// Adds the counts of others, whose values came after these. The error is still at most a
    /// thousandth of all values (Agarwal and others, "Mergeable summaries").
    pub fn merge(&mut self, other: &FrequentNumbers) {
        let mut counts: HashMap<u64, u64> = self.counts().into_iter().collect();
        for (number, count) in other.counts() {
            *counts.entry(number).or_default() += count;
        }
        let taken = excess(counts.values().copied());
        counts.retain(|_, count| *count > taken);
        let total = self.total() + other.total();
        self.error += other.error + taken;
        let len = (2 * counts.len()).next_power_of_two().clamp(MIN_PLACES, MAX_PLACES);
        self.places.clear();
        self.rebuild(len);
        (self.total, self.has_repeats) = (total, true);
        // A count is kept plus the error.
        let more = self.error - taken;
        counts.into_iter().for_each(|(number, count)| self.put(Place { number, count: count + more }));
    }

    /// Returns the number of values that were counted.
    pub fn total(&self) -> u64 {
        self.total + self.rising.len() as u64
    }

    /// Returns the amount by which a count may be too low. 0 means that all counts are exact.
    pub fn error(&self) -> u64 {
        self.error
    }

    /// Returns the most frequent numbers and their counts.
    pub fn top(&self, most: usize) -> Vec<(u64, u64)> {
        let mut all = self.counts();
        most_frequent(&mut all, most);
        all
    }

    /// Returns all numbers in the table with their counts.
    fn counts(&self) -> Vec<(u64, u64)> {
        let used = self.places.iter().filter(|place| place.count > 0);
        let used = used.map(|place| (place.number, place.count - self.error));
        used.chain(self.rising.iter().map(|number| (*number, 1))).collect()
    }
}

/// Keeps the numbers with the highest counts, in that order.
pub fn most_frequent(numbers: &mut Vec<(u64, u64)>, most: usize) {
    numbers.sort_by(|(a, more), (b, less)| less.cmp(more).then_with(|| a.cmp(b)));
    numbers.truncate(most);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::figures::frequent::Frequent;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Number(u64);

    impl From<&Number> for Number {
        fn from(number: &Number) -> Number {
            *number
        }
    }

    fn check(numbers: impl IntoIterator<Item = u64>) {
        let (mut fast, mut plain) = (FrequentNumbers::default(), Frequent::<Number>::default());
        for number in numbers {
            fast.add(number);
            plain.add(&Number(number));
        }
        assert_eq!((fast.total(), fast.error()), (plain.total(), plain.error()));
        let all: Vec<_> =
            plain.top(usize::MAX).into_iter().map(|(number, count)| (number.0, count)).collect();
        assert_eq!(fast.top(usize::MAX), all);
    }

    #[test]
    fn counts_are_those_of_the_plain_table() {
        check([]);
        check((0..10_000).map(|number| number % 999));
        check((0..100_000).map(|number| if number % 10 == 3 { u64::MAX } else { number }));
        check((0..50_000).map(|number| (number % 1500) << 20));
        // Rising numbers, alone, with gaps in their order, and with one that comes again.
        check(0..100_000);
        check((0..100_000).map(|number| number + number % 700 / 699 * 50));
        check((0..100_000).map(|number| if number % 2500 > 2400 { number - 1 } else { number }));
        check((0..100_000).map(|number| if number % 97 == 3 { 1 } else { number }));
        check((0..50_000).map(|number| number * number % 3001 % (1 + number % 1700)));
        // The inverse of the constant, so all hashes are equal.
        check((0..3000_u64).map(|number| number.wrapping_mul(0xf1de_83e1_9937_733d)));
    }

    /// Merges tables of parts of the numbers, and compares them with exact counts.
    #[test]
    fn merged_counts_have_a_small_error() {
        let numbers = |most: u64| (0..60_000_u64).map(move |number| number * number % 100_003 % most);
        for most in [3, 900, 1001, 5000, 100_000] {
            let (mut fast, mut plain) = (FrequentNumbers::default(), Frequent::<Number>::default());
            let all: Vec<u64> = numbers(most).collect();
            for part in all.chunks(7_001) {
                let (mut one, mut two) = (FrequentNumbers::default(), Frequent::<Number>::default());
                for number in part {
                    one.add(*number);
                    two.add(&Number(*number));
                }
                fast.merge(&one);
                plain.merge(two);
            }
            assert_eq!((fast.total(), fast.error()), (plain.total(), plain.error()));
            let top: Vec<_> =
                plain.top(usize::MAX).into_iter().map(|(number, count)| (number.0, count)).collect();
            assert_eq!(fast.top(usize::MAX), top);
            assert!(top.len() <= MAX_VALUES && fast.error() <= fast.total() / MAX_VALUES as u64, "{most}");
            for (number, count) in top {
                let exact = all.iter().filter(|one| **one == number).count() as u64;
                assert!(count <= exact && exact <= count + fast.error(), "{most}: {number}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_numbers_are_counted_alike(numbers in prop::collection::vec(0_u64..1200, 0..6000)) {
            check(numbers);
        }
    }
}
