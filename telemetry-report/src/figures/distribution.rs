//! The distribution of numbers, in little memory. Percentiles are exact for whole numbers below 256
//! and for numbers that are all the same, and otherwise within 0.8 %.
//!
//! The upper bits of a number as a float select its bucket in a histogram: 128 buckets for each
//! power of two. So any float fits, and no logarithms are needed. Only the powers of two that occur
//! take memory, 2 KiB each.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

/// Bits of a float below those that select the bucket, which are 7 of the mantissa's 52.
const BITS_BELOW: u32 = 45;
/// Buckets per power of two.
const BUCKETS_PER_POWER: usize = 128;

/// The numbers that were added.
pub struct Distribution {
    count: u64,
    /// Number of NaNs.
    nans: u64,
    sum: f64,
    /// Smallest and largest.
    ends: Option<(Exact, Exact)>,
    /// Some numbers were floats.
    floats: bool,
    /// By sign and exponent, in the order of the numbers. Those from 1 to 2^63 are in `usual`.
    powers: BTreeMap<u16, Box<Power>>,
    /// Nearly all numbers are whole, so these are found without a search.
    usual: [Option<Box<Power>>; USUAL],
}

/// The buckets of a power of two.
type Power = [Bucket; BUCKETS_PER_POWER];

/// The number of powers of two from 1 on that whole numbers have.
const USUAL: usize = 64;
/// Sign and exponent of 1, as a key.
const FIRST_USUAL: u16 = 0x800 + 1023;

/// Numbers that are nearly equal.
#[derive(Clone, Copy, Default)]
struct Bucket {
    count: u64,
    sum: f64,
}

/// A number, as it was added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Exact {
    Whole(i128),
    Float(f64),
}

/// A distribution as JSON. A missing value is null; infinities are `"Infinity"` and `"-Infinity"`.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    pub count: u64,
    pub min: Json,
    pub mean: Json,
    pub p50: Json,
    pub p90: Json,
    pub p99: Json,
    pub p999: Json,
    pub max: Json,
    /// NaNs, which no other member counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub nans: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution {
            count: 0,
            nans: 0,
            sum: 0.0,
            ends: None,
            floats: false,
            powers: BTreeMap::new(),
            usual: [const { None }; USUAL],
        }
    }
}

impl Distribution {
    /// Adds a whole number.
    #[inline]
    pub fn add_unsigned(&mut self, number: u64) {
        self.add_exact(Exact::Whole(number.into()), number as f64);
    }

    /// Adds a whole number, which may be negative.
    #[inline]
    pub fn add_signed(&mut self, number: i64) {
        self.add_exact(Exact::Whole(number.into()), number as f64);
    }

    /// Adds a float.
    pub fn add_float(&mut self, number: f64) {
        if number.is_nan() {
            self.nans += 1;
            return;
        }
        self.floats = true;
        self.add_exact(Exact::Float(number), number);
    }

    #[inline]
    fn add_exact(&mut self, exact: Exact, number: f64) {
        self.count += 1;
        self.sum += number;
        let (min, max) = self.ends.get_or_insert((exact, exact));
        if exact.is_below(min) {
            *min = exact;
        }
        if max.is_below(&exact) {
            *max = exact;
        }
        let key = ordered(number) >> BITS_BELOW;
        let power = (key / BUCKETS_PER_POWER as u64) as u16;
        let make = || Box::new([Bucket::default(); BUCKETS_PER_POWER]);
        let power = match self.usual.get_mut(usize::from(power.wrapping_sub(FIRST_USUAL))) {
            Some(power) => power.get_or_insert_with(make),
            None => self.powers.entry(power).or_insert_with(make),
        };
        let bucket = &mut power[key as usize % BUCKETS_PER_POWER];
        bucket.count += 1;
        bucket.sum += number;
    }

    /// Returns the buckets in the order of their numbers.
    fn buckets(&self) -> impl Iterator<Item = &Bucket> {
        let below = self.powers.range(..FIRST_USUAL).map(|(_, power)| power);
        let above = self.powers.range(FIRST_USUAL..).map(|(_, power)| power);
        below.chain(self.usual.iter().flatten()).chain(above).flat_map(|power| power.iter())
    }

    /// Returns the least number such that this share of all numbers is not above it.
    pub fn quantile(&self, share: f64) -> Option<Exact> {
        let (min, max) = self.ends?;
        let rank = ((share * self.count as f64).ceil() as u64).saturating_sub(1);
        if rank == 0 {
            return Some(min);
        }
        if rank >= self.count - 1 {
            return Some(max);
        }
        let mut before = 0;
        let bucket = self.buckets().find(|bucket| {
            before += bucket.count;
            before > rank
        })?;
        // This is the mean of the bucket: its number, if all its numbers are the same.
        let mean = bucket.sum / bucket.count as f64;
        let exact = if self.floats { Exact::Float(mean) } else { Exact::Whole(mean.round() as i128) };
        Some(exact.clamp(min, max))
    }

    pub fn summary(&self) -> Summary {
        let quantile = |share| self.quantile(share).map_or(Json::Null, Exact::json);
        let mean = (self.count > 0).then(|| Exact::Float(self.sum / self.count as f64));
        Summary {
            count: self.count,
            min: quantile(0.0),
            mean: mean.map_or(Json::Null, Exact::json),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: quantile(1.0),
            nans: self.nans,
        }
    }
}

impl Exact {
    fn is_below(&self, other: &Exact) -> bool {
        match (self, other) {
            (Exact::Whole(a), Exact::Whole(b)) => a < b,
            _ => self.float() < other.float(),
        }
    }

    fn float(&self) -> f64 {
        match *self {
            Exact::Whole(number) => number as f64,
            Exact::Float(number) => number,
        }
    }

    fn clamp(self, min: Exact, max: Exact) -> Exact {
        if self.is_below(&min) {
            min
        } else if max.is_below(&self) {
            max
        } else {
            self
        }
    }

    fn json(self) -> Json {
        match self {
            Exact::Whole(number) => match (u64::try_from(number), i64::try_from(number)) {
                (Ok(number), _) => Json::from(number),
                (_, Ok(number)) => Json::from(number),
                // No sort has such numbers.
                _ => Json::Null,
            },
            Exact::Float(number) if number == f64::INFINITY => Json::from("Infinity"),
            Exact::Float(number) if number == f64::NEG_INFINITY => Json::from("-Infinity"),
            Exact::Float(number) => Json::from(number),
        }
    }
}

/// Returns the bits of a float as a number of the same order.
fn ordered(number: f64) -> u64 {
    // Both zeros are the same number.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(numbers: &[f64], add: impl Fn(&mut Distribution, f64)) {
        let mut distribution = Distribution::default();
        numbers.iter().for_each(|number| add(&mut distribution, *number));
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        for share in [0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0] {
            let rank = ((share * sorted.len() as f64).ceil() as usize).saturating_sub(1);
            let (exact, found) = (sorted[rank], distribution.quantile(share).unwrap().float());
            let is_small = exact.fract() == 0.0 && exact.abs() < 256.0;
            let most = if is_small || exact.is_infinite() { 0.0 } else { exact.abs() / 128.0 };
            assert!(found == exact || (found - exact).abs() <= most, "{share}: {found}, expected {exact}");
        }
    }

    proptest! {
        #[test]
        fn quantiles_of_whole_numbers(
            numbers in prop::collection::vec(prop_oneof![-200_i64..200, any::<i64>()], 1..200),
        ) {
            let numbers: Vec<f64> = numbers.into_iter().map(|number| number as f64).collect();
            check(&numbers, |distribution, number| distribution.add_signed(number as i64));
        }

        #[test]
        fn quantiles_of_floats(numbers in prop::collection::vec(any::<f64>().prop_filter("a number", |x| !x.is_nan()), 1..200)) {
            // Buckets of numbers next to zero are wider, and sums of the largest numbers are
            // infinite.
            let is_usual = |x: &f64| !x.is_subnormal() && (x.is_infinite() || x.abs() < 1e300);
            let numbers: Vec<f64> = numbers.into_iter().map(|x| if is_usual(&x) { x } else { 0.0 }).collect();
            check(&numbers, Distribution::add_float);
        }
    }

    #[test]
    fn ends_are_exact_and_what_is_no_number_is_counted() {
        let mut distribution = Distribution::default();
        distribution.add_unsigned(u64::MAX);
        distribution.add_signed(i64::MIN);
        distribution.add_unsigned(0);
        distribution.add_float(f64::NAN);
        let summary = distribution.summary();
        assert_eq!(summary.max, Json::from(u64::MAX));
        assert_eq!(summary.min, Json::from(i64::MIN));
        assert_eq!((summary.count, summary.nans, summary.p50), (3, 1, Json::from(0)));
    }
}
