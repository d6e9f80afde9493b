//! Numbers over time: a histogram for each interval.

use hashbrown::HashMap;

/// Bits of a float below those that are its bucket: 8 buckets for each power of two.
const BITS_BELOW: u32 = 49;

/// Histograms of numbers that come by time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heat {
    at: usize,
    open: HashMap<i16, u64>,
    sum: f64,
    /// All before `at`.
    pub(crate) columns: Vec<Column>,
}

/// The numbers of an interval.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) at: usize,
    /// Buckets in order, and their counts.
    pub(crate) cells: Vec<(i16, u64)>,
    pub(crate) sum: f64,
}

impl Heat {
    /// Adds a number to an interval. Intervals come in order. NaN has no bucket.
    #[inline]
    pub(crate) fn add(&mut self, at: usize, number: f64) {
        if at != self.at {
            self.close();
            self.at = at;
        }
        if number.is_nan() {
            return;
        }
        *self.open.entry(bucket(number)).or_default() += 1;
        self.sum += number;
    }

    /// Merges each two intervals.
    pub(crate) fn fold(&mut self) {
        self.close();
        let columns = std::mem::take(&mut self.columns);
        columns.into_iter().for_each(|column| self.push(Column { at: column.at / 2, ..column }));
        self.at /= 2;
    }

    /// Ends the open interval.
    pub(crate) fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let mut cells: Vec<_> = self.open.drain().collect();
        cells.sort_unstable();
        let sum = std::mem::take(&mut self.sum);
        self.push(Column { at: self.at, cells, sum });
    }

    /// Returns the number of cells, which take the memory.
    pub(crate) fn cells(&self) -> usize {
        self.columns.iter().map(|column| column.cells.len()).sum()
    }

    fn push(&mut self, column: Column) {
        let Some(last) = self.columns.last_mut().filter(|last| last.at == column.at) else {
            return self.columns.push(column);
        };
        last.sum += column.sum;
        for (bucket, count) in column.cells {
            match last.cells.binary_search_by_key(&bucket, |cell| cell.0) {
                Ok(index) => last.cells[index].1 += count,
                Err(index) => last.cells.insert(index, (bucket, count)),
            }
        }
    }
}

/// Returns the bucket of a number: 0 for zero, and for a negative number that of its opposite,
/// negated.
#[inline]
pub(crate) fn bucket(number: f64) -> i16 {
    let upper = (number.abs().to_bits() >> BITS_BELOW) as i16;
    match number {
        0.0 => 0,
        number if number > 0.0 => upper + 1,
        _ => -(upper + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_the_order_of_the_numbers() {
        let numbers = [
            f64::NEG_INFINITY,
            f64::MIN,
            -2.0,
            -1.0,
            -1e-300,
            0.0,
            5e-324,
            1.0,
            1.125,
            2.0,
            1e300,
            f64::INFINITY,
        ];
        let buckets = numbers.map(bucket);
        assert!(buckets.is_sorted(), "{buckets:?}");
        assert_eq!(bucket(-0.0), 0);
        assert_eq!(bucket(1.0), 1023 * 8 + 1);
    }

    #[test]
    fn folding_keeps_counts_and_sums() {
        let mut heat = Heat::default();
        for (at, number) in [(0, 1.0), (1, 1.0), (1, 7.0), (2, 7.0), (5, -1.0)] {
            heat.add(at, number);
        }
        heat.fold();
        heat.add(2, -1.0);
        heat.close();
        let found: Vec<_> = heat.columns.iter().map(|column| (column.at, column.sum)).collect();
        assert_eq!(found, [(0, 9.0), (1, 7.0), (2, -2.0)]);
        assert_eq!(heat.columns[0].cells, [(bucket(1.0), 2), (bucket(7.0), 1)]);
        assert_eq!(heat.cells(), 4);
    }
}
