//! Sums of a parameter, with its percentiles.

use telemetry_report::figures::distribution::Distribution;
use telemetry_schema::Sort;

/// Numbers of one parameter.
#[derive(Default)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) whole: i128,
    pub(crate) float: f64,
    /// Some numbers were floats.
    pub(crate) has_floats: bool,
    pub(crate) distribution: Option<Box<Distribution>>,
}

impl Sum {
    pub(super) fn add(&mut self, bits: u64, sort: Sort, has_percentiles: bool) {
        let float = match sort {
            Sort::F32 => Some(f64::from(f32::from_bits(bits as u32))),
            Sort::F64 => Some(f64::from_bits(bits)),
            Sort::Pointer | Sort::Addr | Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => None,
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::Bool => None,
            Sort::String | Sort::Bytes | Sort::Label | Sort::Named(_) => None,
        };
        let is_signed = sort.int_range().is_some_and(|range| *range.start() < 0);
        let distribution = has_percentiles.then(|| self.distribution.get_or_insert_default());
        self.count += 1;
        match float {
            Some(number) => {
                self.has_floats = true;
                self.float += number;
                distribution.into_iter().for_each(|all| all.add_float(number));
            }
            None if is_signed => {
                self.whole += i128::from(bits as i64);
                distribution.into_iter().for_each(|all| all.add_signed(bits as i64));
            }
            None => {
                self.whole += i128::from(bits);
                distribution.into_iter().for_each(|all| all.add_unsigned(bits));
            }
        }
    }

    pub(super) fn merge(&mut self, later: Sum) {
        self.count += later.count;
        self.whole += later.whole;
        self.float += later.float;
        self.has_floats |= later.has_floats;
        match (&mut self.distribution, later.distribution) {
            (Some(own), Some(later)) => own.merge(&later),
            (own @ None, later) => *own = later,
            (Some(_), None) => {}
        }
    }

    /// Adds the numbers of the same group under another key.
    pub(crate) fn join(&mut self, other: &Sum) {
        self.count += other.count;
        self.whole += other.whole;
        self.float += other.float;
        self.has_floats |= other.has_floats;
        if let Some(other) = &other.distribution {
            self.distribution.get_or_insert_default().merge(other);
        }
    }
}
