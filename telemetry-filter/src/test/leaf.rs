//! One comparison with an event.

use std::ops::RangeInclusive;

use telemetry_decode::Value;
use telemetry_decode::condition::Candidate;

use super::text::TextTest;

/// One comparison.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) what: What,
    /// Whether the comparison must be true. A value that is unknown never matches.
    pub(crate) wanted: bool,
}

/// What is compared. A parameter is given by its index.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// A whole number is in an interval.
    Whole(usize, Interval),
    /// A whole number is one of these, which are sorted; in the order of [`Interval`].
    OneOf(usize, Flip, Box<[u64]>),
    /// All these flags are set.
    Flags(usize, u64),
    Float(usize, Width, Order, f64),
    Text(usize, TextTest),
    /// The string that a number stands for.
    Name(usize, TextTest),
    /// An element of an array is one of these numbers.
    Element(usize, Box<[i128]>),
    FloatElement(usize, f64),
    /// Two parameters.
    Two(Side, Order, Side),
    /// The time, in nanoseconds since the session's start.
    Time(RangeInclusive<i64>),
    /// The result of a comparison with the lane, by its bit.
    Lane(u32),
}

/// Whole numbers that lie together, as unsigned numbers in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) flip: Flip,
    pub(crate) range: RangeInclusive<u64>,
}

/// The bits to invert, so that the order of unsigned numbers is that of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flip(u64);

impl Flip {
    pub(crate) fn new(is_signed: bool) -> Flip {
        Flip(if is_signed { 1 << 63 } else { 0 })
    }

    /// Returns the least and the greatest value.
    pub(crate) fn limits(self) -> (i128, i128) {
        match self.0 {
            0 => (0, u64::MAX.into()),
            _ => (i64::MIN.into(), i64::MAX.into()),
        }
    }

    /// Returns a value between the limits as an unsigned number.
    pub(crate) fn unsigned(self, value: i128) -> u64 {
        value as u64 ^ self.0
    }

    fn value(self, bits: u64) -> i128 {
        if self.0 == 0 { bits.into() } else { (bits as i64).into() }
    }
}

/// The width of a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    F32,
    F64,
}

impl Width {
    fn value(self, bits: u64) -> f64 {
        match self {
            Width::F32 => f32::from_bits(bits as u32).into(),
            Width::F64 => f64::from_bits(bits),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Order {
    pub(crate) fn holds<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            Order::Equal => a == b,
            Order::Unequal => a != b,
            Order::Less => a < b,
            Order::AtMost => a <= b,
            Order::Greater => a > b,
            Order::AtLeast => a >= b,
        }
    }
}

/// A parameter that is compared with another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Whole(usize, Flip),
    Float(usize, Width),
}

impl Leaf {
    /// Returns true if an event matches.
    #[inline]
    pub(crate) fn matches(&self, candidate: &Candidate<'_>, lane: u64) -> bool {
        let is_true = match &self.what {
            What::Whole(param, Interval { flip, range }) => {
                range.contains(&(candidate.bits(*param) ^ flip.0))
            }
            What::OneOf(param, flip, list) => list.binary_search(&(candidate.bits(*param) ^ flip.0)).is_ok(),
            What::Flags(param, mask) => candidate.bits(*param) & mask == *mask,
            What::Float(param, width, order, value) => {
                order.holds(&width.value(candidate.bits(*param)), value)
            }
            What::Text(param, test) => test.passes(candidate.run(*param)),
            What::Name(param, test) => match candidate.string(*param) {
                Some(name) => test.passes(name.as_bytes()),
                None => return false,
            },
            What::Element(param, list) => has_element(candidate, *param, |value| {
                value.as_i128().is_some_and(|number| list.contains(&number))
            }),
            What::FloatElement(param, wanted) => {
                has_element(candidate, *param, |value| value.as_f64() == Some(*wanted))
            }
            What::Two(Side::Whole(a, of_a), order, Side::Whole(b, of_b)) => {
                order.holds(&of_a.value(candidate.bits(*a)), &of_b.value(candidate.bits(*b)))
            }
            What::Two(a, order, b) => order.holds(&a.float(candidate), &b.float(candidate)),
            What::Time(times) => times.contains(&candidate.time_ns()),
            What::Lane(bit) => lane >> bit & 1 != 0,
        };
        is_true == self.wanted
    }

    /// Returns true if an event of a lane at one of these times may match.
    pub(crate) fn may_match(&self, lane: u64, times: &RangeInclusive<i64>) -> bool {
        match &self.what {
            What::Lane(bit) => (lane >> bit & 1 != 0) == self.wanted,
            What::Time(wanted) if self.wanted => {
                wanted.start() <= times.end() && times.start() <= wanted.end()
            }
            What::Time(unwanted) => !(unwanted.contains(times.start()) && unwanted.contains(times.end())),
            What::Whole(..) | What::OneOf(..) | What::Flags(..) | What::Float(..) | What::Text(..) => true,
            What::Name(..) | What::Element(..) | What::FloatElement(..) | What::Two(..) => true,
        }
    }
}

impl Side {
    fn float(self, candidate: &Candidate<'_>) -> f64 {
        match self {
            Side::Whole(param, flip) => flip.value(candidate.bits(param)) as f64,
            Side::Float(param, width) => width.value(candidate.bits(param)),
        }
    }
}

fn has_element(candidate: &Candidate<'_>, param: usize, wants: impl Fn(&Value<'_>) -> bool) -> bool {
    match candidate.value(param) {
        Some(Value::Array(array)) => array.iter().any(|value| wants(&value)),
        _ => false,
    }
}
