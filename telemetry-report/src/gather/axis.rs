//! The time axis of the page, and counts along it.

use std::ops::AddAssign;

/// The maximum of intervals on the axis.
pub(crate) const INTERVALS: u64 = 1024;

/// The first length of an interval, as a power of two of nanoseconds.
const FIRST_SHIFT: u32 = 6;

/// Time from the first event, divided into intervals of equal length. When an event comes after the
/// last interval, the length doubles, and all tables fold: each two intervals become one.
#[derive(Debug)]
pub(crate) struct Axis {
    /// Nanoseconds since 1970.
    origin: Option<i64>,
    shift: u32,
    until: u64,
}

impl Default for Axis {
    fn default() -> Self {
        Axis { origin: None, shift: FIRST_SHIFT, until: 0 }
    }
}

impl Axis {
    /// Returns a moment on the axis. The first one is the origin. A moment before it counts as it.
    #[inline]
    pub(crate) fn moment(&mut self, wall_ns: i64) -> u64 {
        let origin = *self.origin.get_or_insert(wall_ns);
        let ns = u64::try_from(i128::from(wall_ns) - i128::from(origin)).unwrap_or(0);
        self.until = self.until.max(ns);
        ns
    }

    /// Returns the number of times that all tables must fold before they take this moment.
    #[inline]
    pub(crate) fn folds_for(&mut self, ns: u64) -> u32 {
        let mut folds = 0;
        while ns >> self.shift >= INTERVALS {
            self.shift += 1;
            folds += 1;
        }
        folds
    }

    /// Returns the interval of a moment.
    #[inline]
    pub(crate) fn interval(&self, ns: u64) -> usize {
        (ns >> self.shift) as usize
    }

    /// Returns the length of an interval.
    pub(crate) fn width(&self) -> u64 {
        1 << self.shift
    }

    /// Returns the origin in nanoseconds since 1970.
    pub(crate) fn origin(&self) -> i64 {
        self.origin.unwrap_or(0)
    }

    /// Returns the time of the last event.
    pub(crate) fn until(&self) -> u64 {
        self.until
    }
}

/// Numbers along the axis, from the first interval that has one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series<T> {
    pub(crate) first: usize,
    pub(crate) values: Vec<T>,
}

impl<T: Copy + Default + AddAssign> Series<T> {
    /// Adds to an interval.
    #[inline]
    pub(crate) fn add(&mut self, at: usize, by: T) {
        match at.checked_sub(self.first).and_then(|index| self.values.get_mut(index)) {
            Some(value) => *value += by,
            None => self.add_beyond(at, by),
        }
    }

    #[cold]
    fn add_beyond(&mut self, at: usize, by: T) {
        if self.values.is_empty() {
            self.first = at;
        } else if at < self.first {
            self.values.splice(..0, std::iter::repeat_n(T::default(), self.first - at));
            self.first = at;
        }
        let index = at - self.first;
        if index >= self.values.len() {
            self.values.resize(index + 1, T::default());
        }
        self.values[index] += by;
    }

    /// Merges each two intervals.
    pub(crate) fn fold(&mut self) {
        let mut folded = Series { first: self.first / 2, values: Vec::new() };
        for (index, value) in self.values.iter().enumerate() {
            folded.add((self.first + index) / 2, *value);
        }
        *self = folded;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn folding_keeps_each_number_in_its_interval(moments in prop::collection::vec(any::<u64>(), 1..100)) {
            let mut axis = Axis::default();
            let mut series = Series::<u64>::default();
            for moment in &moments {
                let moment = moment >> (moment % 60);
                (0..axis.folds_for(moment)).for_each(|_| series.fold());
                series.add(axis.interval(moment), 1);
            }
            let mut expected = Series::<u64>::default();
            moments.iter().for_each(|moment| expected.add(axis.interval(moment >> (moment % 60)), 1));
            let sum: u64 = series.values.iter().sum();
            prop_assert_eq!(sum, moments.len() as u64);
            for at in 0..INTERVALS as usize {
                let of = |series: &Series<u64>| {
                    at.checked_sub(series.first).and_then(|at| series.values.get(at).copied()).unwrap_or(0)
                };
                prop_assert_eq!(of(&series), of(&expected), "interval {}", at);
            }
        }
    }
}
