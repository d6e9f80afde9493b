//! The values that fields and parameters are compared with.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use regex_lite::Regex;
use telemetry_schema::{Type, TypeForm};

use crate::fit::problem::{Problem, instead};
use crate::syntax::tree::{Comparison, Name, Number, Op, Operand};
use crate::test::leaf::{Flip, Interval, Leaf, Order, What};
use crate::test::text::TextTest;
use crate::test::tree::Tree;

/// A number, rounded down, and how it compares with that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bound {
    pub(super) floor: i128,
    pub(super) is_whole: bool,
}

/// Units of time, in nanoseconds.
const TIME_UNITS: [(&str, i128); 5] =
    [("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Returns a number in the unit of a parameter: digits, and the number that they are divided by.
fn in_unit(number: &Number, unit: &str) -> Result<(i128, i128), Problem> {
    let divisor = 10_i128.pow(number.scale);
    if !number.is_time {
        return Ok((number.digits, divisor));
    }
    match TIME_UNITS.iter().find(|(name, _)| *name == unit) {
        Some((_, ns)) => Ok((number.digits, divisor * ns)),
        None => {
            let message = match unit {
                "" => "a time, but the parameter has no unit".to_string(),
                unit => format!("a time, but the parameter is in `{unit}`"),
            };
            Err(Problem::misuse(number.span.clone(), message).with_help("write the number without a unit"))
        }
    }
}

pub(super) fn bound(number: &Number, unit: &str) -> Result<Bound, Problem> {
    let (digits, divisor) = in_unit(number, unit)?;
    Ok(Bound { floor: digits.div_euclid(divisor), is_whole: digits % divisor == 0 })
}

pub(super) fn float(number: &Number, unit: &str) -> Result<f64, Problem> {
    let (digits, divisor) = in_unit(number, unit)?;
    Ok(digits as f64 / divisor as f64)
}

/// Returns the order of an operator, if it has one.
pub(super) fn order(op: Op) -> Option<Order> {
    Some(match op {
        Op::Equal => Order::Equal,
        Op::Unequal => Order::Unequal,
        Op::Less => Order::Less,
        Op::AtMost => Order::AtMost,
        Op::Greater => Order::Greater,
        Op::AtLeast => Order::AtLeast,
        Op::In | Op::Has | Op::Contains | Op::Matches | Op::IsTrue => return None,
    })
}

/// Returns the whole numbers that are in an order with a bound, and whether they are those that
/// match.
fn range(order: Order, bound: Bound, (least, greatest): (i128, i128)) -> (RangeInclusive<i128>, bool) {
    let Bound { floor, is_whole } = bound;
    let below = if is_whole { floor - 1 } else { floor };
    match order {
        Order::Equal | Order::Unequal if !is_whole => (greatest..=least, order == Order::Equal),
        Order::Equal => (floor..=floor, true),
        Order::Unequal => (floor..=floor, false),
        Order::Less => (least..=below, true),
        Order::AtMost => (least..=floor, true),
        Order::Greater => (floor + 1..=greatest, true),
        Order::AtLeast => (below + 1..=greatest, true),
    }
}

/// Makes the comparison of a whole number with a bound.
pub(super) fn whole(param: usize, flip: Flip, order: Order, bound: Bound, wanted: bool) -> Tree {
    let (least, greatest) = flip.limits();
    let (range, is_inside) = range(order, bound, (least, greatest));
    let (start, end) = ((*range.start()).max(least), (*range.end()).min(greatest));
    let wanted = wanted == is_inside;
    match (start.cmp(&end), start == least && end == greatest) {
        (Ordering::Greater, _) => Tree::of(!wanted),
        (_, true) => Tree::of(wanted),
        _ => {
            let interval = Interval { flip, range: flip.unsigned(start)..=flip.unsigned(end) };
            Tree::Leaf(Leaf { what: What::Whole(param, interval), wanted })
        }
    }
}

/// Makes the comparison of a whole number with a list.
pub(super) fn one_of(param: usize, flip: Flip, list: impl IntoIterator<Item = i128>, wanted: bool) -> Tree {
    let (least, greatest) = flip.limits();
    let list = list.into_iter().filter(|number| (least..=greatest).contains(number));
    let mut list: Vec<u64> = list.map(|number| flip.unsigned(number)).collect();
    list.sort_unstable();
    match list.is_empty() {
        true => Tree::of(!wanted),
        false => Tree::Leaf(Leaf { what: What::OneOf(param, flip, list.into()), wanted }),
    }
}

/// Makes the comparison of the time.
pub(super) fn time(comparison: &Comparison, wanted: bool) -> Result<Tree, Problem> {
    let (range, is_inside) = time_range(comparison)?;
    let wanted = wanted == is_inside;
    if range.is_empty() {
        return Ok(Tree::of(!wanted));
    }
    Ok(Tree::Leaf(Leaf { what: What::Time(range), wanted }))
}

/// Returns the times in nanoseconds in a comparison, and whether they are those that match.
pub(crate) fn time_range(comparison: &Comparison) -> Result<(RangeInclusive<i64>, bool), Problem> {
    let Comparison { subject, op, at, operands } = comparison;
    let (Some(order), [operand]) = (order(*op), &operands[..]) else {
        let problem = Problem::misuse(at.clone(), format!("`{}` is a number", subject.text));
        return Err(problem.with_help("the operators of times are ==, !=, <, <=, > and >="));
    };
    let Operand::Number(number) = operand else {
        let problem = Problem::misuse(operand.span(), "expected a time");
        return Err(problem.with_help("such as `1.5s` or `20ms`"));
    };
    let limits = (i64::MIN.into(), i64::MAX.into());
    let (range, is_inside) = range(order, bound(number, "ns")?, limits);
    let (start, end) = ((*range.start()).max(limits.0), (*range.end()).min(limits.1));
    Ok(if start > end {
        (limits.1 as i64..=limits.0 as i64, is_inside)
    } else {
        (start as i64..=end as i64, is_inside)
    })
}

/// Makes the comparison of a text.
pub(super) fn text_test(comparison: &Comparison) -> Result<TextTest, Problem> {
    let Comparison { subject, op, at, operands } = comparison;
    let mut texts = Vec::new();
    for operand in operands {
        let Operand::Text(text, _) = operand else {
            let problem = Problem::misuse(operand.span(), "expected a string in quotes");
            return Err(problem.with_help(format!("`{}` is a text", subject.text)));
        };
        texts.push(text.as_str());
    }
    let bytes = |text: &&str| text.as_bytes().to_vec();
    match (op, &texts[..]) {
        (Op::Equal | Op::Unequal, [text]) => Ok(TextTest::Is(bytes(text))),
        (Op::Contains, [text]) => Ok(TextTest::Contains(bytes(text))),
        (Op::Matches, [pattern]) => match Regex::new(pattern) {
            Ok(pattern) => Ok(TextTest::Matches(pattern)),
            Err(error) => Err(Problem::misuse(operands[0].span(), format!("not a pattern: {error}"))),
        },
        (Op::In, texts) => Ok(TextTest::IsOneOf(texts.iter().map(bytes).collect())),
        _ => {
            let problem = Problem::misuse(at.clone(), format!("`{}` is a text", subject.text));
            Err(problem.with_help("the operators of texts are ==, !=, in, contains and ~"))
        }
    }
}

/// Returns the number of a named value.
pub(super) fn named(ty: &Type, name: &Name) -> Result<i128, Problem> {
    if let Some(value) = ty.values.iter().find(|value| value.name == name.text) {
        return Ok(value.number);
    }
    let names = ty.values.iter().map(|value| value.name.as_str());
    let what = if ty.form == TypeForm::Flags { "flag" } else { "value" };
    let message = format!("`{}` is not a {what} of `{}`", name.text, ty.name);
    let problem = Problem::misuse(name.span.clone(), message);
    Err(match instead(&name.text, names) {
        Some(help) => problem.with_help(help),
        None => problem,
    })
}
