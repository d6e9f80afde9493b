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
#[derive(Default)]
pub struct Distribution {
    /// Whole numbers below 2^32, which nearly all numbers are.
    usual: Usual,
    /// All others.
    others: Others,
}

/// The buckets of whole numbers below 2^32. Adding one needs no arithmetic with floats.
struct Usual {
    /// Smallest and largest from [`SMALL`] on. Without such numbers, the smallest is larger.
    least: u32,
    most: u32,
    /// The counts of numbers below 256.
    small: Option<Box<[u64; SMALL as usize]>>,
    /// The others by power of two, from [`SMALL`] on.
    powers: [Option<Box<[UsualBucket; BUCKETS_PER_POWER]>>; USUAL_POWERS],
}

/// Numbers below this one have a bucket each.
pub const SMALL: u32 = 1 << SMALL_BITS;
const SMALL_BITS: u32 = 8;
/// The number of powers of two from [`SMALL`] to 2^31.
const USUAL_POWERS: usize = (u32::BITS - SMALL_BITS) as usize;

/// Numbers that are nearly equal.
#[derive(Clone, Copy, Default)]
struct UsualBucket {
    count: u64,
    /// The sum of their distances from the least number of the bucket. They are below 2^24, so the
    /// sum of a trillion of them fits.
    above: u64,
}

/// The numbers that are not in [`Usual`].
#[derive(Default, Clone)]
struct Others {
    count: u64,
    /// Number of NaNs.
    nans: u64,
    sum: f64,
    /// Smallest and largest.
    ends: Option<(Exact, Exact)>,
    /// Some numbers were floats.
    floats: bool,
    /// By sign and exponent, in the order of the numbers.
    powers: BTreeMap<u16, Box<[Bucket; BUCKETS_PER_POWER]>>,
}

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

impl Distribution {
    /// Adds a whole number.
    #[inline]
    pub fn add_unsigned(&mut self, number: u64) {
        match u32::try_from(number) {
            Ok(number) => self.usual.add(number),
            Err(_) => self.others.add(Exact::Whole(number.into()), number as f64),
        }
    }

    /// Adds a whole number, which may be negative.
    #[inline]
    pub fn add_signed(&mut self, number: i64) {
        match u32::try_from(number) {
            Ok(number) => self.usual.add(number),
            Err(_) => self.others.add(Exact::Whole(number.into()), number as f64),
        }
    }

    /// Adds a float.
    pub fn add_float(&mut self, number: f64) {
        if number.is_nan() {
            self.others.nans += 1;
            return;
        }
        self.others.floats = true;
        self.others.add(Exact::Float(number), number);
    }

    /// Adds the numbers of another distribution.
    pub fn merge(&mut self, other: &Distribution) {
        self.usual.merge(&other.usual);
        self.others.merge(&other.others);
    }

    /// Returns all numbers in one form.
    fn settled(&self) -> Others {
        let mut all = self.others.clone();
        self.usual.add_to(&mut all);
        all
    }

    /// Returns the least number such that this share of all numbers is not above it.
    pub fn quantile(&self, share: f64) -> Option<Exact> {
        self.settled().quantile(share)
    }

    pub fn summary(&self) -> Summary {
        self.settled().summary()
    }

    /// Returns the number of values in each bucket that has some. Buckets come in the order of
    /// their values, and have the same numbers in all distributions.
    pub fn buckets(&self) -> Vec<(u32, u64)> {
        let all = self.settled();
        let of_power = all.powers.iter().flat_map(|(power, buckets)| {
            let first = u32::from(*power) * BUCKETS_PER_POWER as u32;
            (first..).zip(buckets.iter().map(|bucket| bucket.count))
        });
        of_power.filter(|(_, count)| *count > 0).collect()
    }

    /// Returns the whole numbers below [`SMALL`] with their counts, which are exact.
    pub fn small(&self) -> impl Iterator<Item = (u64, u64)> + Clone {
        let counts = self.usual.small.iter().flat_map(|small| small.iter().copied());
        (0..).zip(counts).filter(|(_, count)| *count > 0)
    }

    /// Returns a number of each bucket that has some, in order, and their counts. The number is the
    /// mean of the bucket.
    pub fn numbers(&self) -> Vec<(f64, u64)> {
        let all = self.settled();
        let buckets = all.powers.values().flat_map(|power| power.iter());
        let buckets = buckets.filter(|bucket| bucket.count > 0);
        buckets.map(|bucket| (bucket.sum / bucket.count as f64, bucket.count)).collect()
    }

    /// Returns the mean; none without numbers.
    pub fn mean(&self) -> Option<f64> {
        let all = self.settled();
        (all.count > 0).then(|| all.sum / all.count as f64)
    }
}

impl Default for Usual {
    fn default() -> Self {
        Usual { least: u32::MAX, most: 0, small: None, powers: [const { None }; USUAL_POWERS] }
    }
}

impl Usual {
    #[inline(always)]
    fn add(&mut self, number: u32) {
        if number < SMALL {
            let small = self.small.get_or_insert_with(|| Box::new([0; SMALL as usize]));
            small[number as usize] += 1;
            return;
        }
        self.least = self.least.min(number);
        self.most = self.most.max(number);
        let power = number.ilog2();
        let shift = power - BUCKETS_PER_POWER.ilog2();
        let make = || Box::new([UsualBucket::default(); BUCKETS_PER_POWER]);
        let buckets = self.powers[(power - SMALL_BITS) as usize].get_or_insert_with(make);
        let bucket = &mut buckets[(number >> shift) as usize % BUCKETS_PER_POWER];
        bucket.count += 1;
        bucket.above += u64::from(number & ((1 << shift) - 1));
    }

    fn merge(&mut self, other: &Usual) {
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
        if let Some(other) = &other.small {
            let small = self.small.get_or_insert_with(|| Box::new([0; SMALL as usize]));
            small.iter_mut().zip(&other[..]).for_each(|(sum, count)| *sum += count);
        }
        for (power, other) in self.powers.iter_mut().zip(&other.powers) {
            let Some(other) = other else { continue };
            let make = || Box::new([UsualBucket::default(); BUCKETS_PER_POWER]);
            for (bucket, other) in power.get_or_insert_with(make).iter_mut().zip(&other[..]) {
                bucket.count += other.count;
                bucket.above += other.above;
            }
        }
    }

    /// Adds all numbers to others.
    fn add_to(&self, others: &mut Others) {
        let mut sum = 0_u128;
        for (number, count) in self.small.iter().flat_map(|small| small.iter().enumerate()) {
            if *count > 0 {
                others.reach(Exact::Whole(number as i128));
            }
            sum += number as u128 * u128::from(*count);
            others.bucket(number as f64).add(*count, (number as u128 * u128::from(*count)) as f64);
            others.count += count;
        }
        for (power, buckets) in (SMALL_BITS..).zip(&self.powers) {
            for (index, bucket) in buckets.iter().flat_map(|buckets| buckets.iter().enumerate()) {
                let first = (BUCKETS_PER_POWER + index) as u64;
                let least = first << (power - BUCKETS_PER_POWER.ilog2());
                let of_bucket = u128::from(bucket.count) * u128::from(least) + u128::from(bucket.above);
                sum += of_bucket;
                others.bucket(least as f64).add(bucket.count, of_bucket as f64);
                others.count += bucket.count;
            }
        }
        others.sum += sum as f64;
        if self.least <= self.most {
            others.reach(Exact::Whole(self.least.into()));
            others.reach(Exact::Whole(self.most.into()));
        }
    }
}

impl Others {
    fn add(&mut self, exact: Exact, number: f64) {
        self.count += 1;
        self.sum += number;
        self.reach(exact);
        self.bucket(number).add(1, number);
    }

    fn merge(&mut self, other: &Others) {
        self.count += other.count;
        self.nans += other.nans;
        self.sum += other.sum;
        self.floats |= other.floats;
        if let Some((min, max)) = other.ends {
            self.reach(min);
            self.reach(max);
        }
        for (power, buckets) in &other.powers {
            let make = || Box::new([Bucket::default(); BUCKETS_PER_POWER]);
            let known = self.powers.entry(*power).or_insert_with(make);
            known.iter_mut().zip(&buckets[..]).for_each(|(bucket, other)| bucket.add(other.count, other.sum));
        }
    }

    /// Widens the ends to a number.
    fn reach(&mut self, exact: Exact) {
        let (min, max) = self.ends.get_or_insert((exact, exact));
        if exact.is_below(min) {
            *min = exact;
        }
        if max.is_below(&exact) {
            *max = exact;
        }
    }

    /// Returns the bucket of a number.
    fn bucket(&mut self, number: f64) -> &mut Bucket {
        let key = ordered(number) >> BITS_BELOW;
        let power = self.powers.entry((key / BUCKETS_PER_POWER as u64) as u16);
        let power = power.or_insert_with(|| Box::new([Bucket::default(); BUCKETS_PER_POWER]));
        &mut power[key as usize % BUCKETS_PER_POWER]
    }

    fn quantile(&self, share: f64) -> Option<Exact> {
        let (min, max) = self.ends?;
        let rank = ((share * self.count as f64).ceil() as u64).saturating_sub(1);
        if rank == 0 {
            return Some(min);
        }
        if rank >= self.count - 1 {
            return Some(max);
        }
        let mut before = 0;
        let bucket = self.powers.values().flat_map(|power| power.iter()).find(|bucket| {
            before += bucket.count;
            before > rank
        })?;
        // This is the mean of the bucket: its number, if all its numbers are the same.
        let mean = bucket.sum / bucket.count as f64;
        let exact = if self.floats { Exact::Float(mean) } else { Exact::Whole(mean.round() as i128) };
        Some(exact.clamp(min, max))
    }

    fn summary(&self) -> Summary {
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

impl Bucket {
    fn add(&mut self, count: u64, sum: f64) {
        self.count += count;
        self.sum += sum;
    }
}

impl Exact {
    fn is_below(&self, other: &Exact) -> bool {
        match (self, other) {
            (Exact::Whole(a), Exact::Whole(b)) => a < b,
            _ => self.float() < other.float(),
        }
    }

    pub fn float(&self) -> f64 {
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
    fn merged_numbers_are_as_if_added_at_once() {
        let whole = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (number % 61);
        for cut in [0, 1, 17, 1000] {
            let (mut one, mut two) = (Distribution::default(), Distribution::default());
            let mut both = Distribution::default();
            for number in 0..1000 {
                let half = if number < cut { &mut one } else { &mut two };
                for distribution in [half, &mut both] {
                    // Their sums are exact.
                    distribution.add_unsigned(whole(number) >> 24);
                    distribution.add_signed(-(number as i64));
                }
            }
            one.merge(&two);
            assert_eq!(format!("{:?}", one.summary()), format!("{:?}", both.summary()), "{cut}");
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
