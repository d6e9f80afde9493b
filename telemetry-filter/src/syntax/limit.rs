//! Reads the text of a limit: how far a figure of one run may be from that of another.

use std::ops::Range;

use winnow::ascii::multispace0;
use winnow::combinator::{alt, cut_err, eof, opt, preceded, terminated};
use winnow::prelude::*;
use winnow::stream::LocatingSlice;
use winnow::token::take_while;

use super::error::Error;
use super::number::number;
use super::parse::{Text, a_name, expected, explained, is_in_name, sign};
use super::tree::Operand;

/// The longest text, in bytes.
const MAX_LEN: usize = 256;

/// A limit, such as `p99(Gc) > +10%`: what must not be true of two runs.
///
/// ```
/// use telemetry_filter::{Figure, Limit};
///
/// let limit = Limit::parse("p99(Gc) > +10%").unwrap();
/// assert_eq!((limit.figure(), limit.name()), (Figure::Percentile(99.0), "Gc"));
/// assert!(limit.is_exceeded(100.0, 111.0) && !limit.is_exceeded(100.0, 109.0));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    text: String,
    figure: Figure,
    name: String,
    name_at: Range<usize>,
    op: Relation,
    bound: Bound,
    number: f64,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Figure {
    /// `count`: the number of events or spans.
    Count,
    /// `rate`: that number for each second.
    Rate,
    /// `total`: the sum of durations.
    Total,
    /// `mean`: the mean duration.
    Mean,
    /// `max`: the longest duration.
    Max,
    /// `p50`, `p99.9` and so on: a percentile of durations.
    Percentile(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Relation {
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// What the number of a limit is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    /// The change in percent of the first run.
    Percent,
    /// The difference of both runs.
    Difference,
    /// The figure of the second run.
    Value,
}

impl Figure {
    fn of(word: &str) -> Option<Figure> {
        Some(match word {
            "count" => Figure::Count,
            "rate" => Figure::Rate,
            "total" => Figure::Total,
            "mean" => Figure::Mean,
            "max" => Figure::Max,
            word => {
                let percent = word.strip_prefix('p')?;
                let is_plain = percent.starts_with(|c: char| c.is_ascii_digit());
                Figure::Percentile(percent.parse().ok().filter(|p| is_plain && *p > 0.0 && *p <= 100.0)?)
            }
        })
    }

    /// Returns true for a figure of durations, which only spans have.
    pub fn is_of_durations(self) -> bool {
        !matches!(self, Figure::Count | Figure::Rate)
    }
}

impl Limit {
    /// Reads a limit.
    ///
    /// # Errors
    /// If the text is not one. The error shows its place.
    pub fn parse(text: &str) -> Result<Limit, Error> {
        if text.len() > MAX_LEN {
            let message = format!("a limit of {} bytes, expected at most {MAX_LEN}", text.len());
            return Err(Error::new(text, MAX_LEN..MAX_LEN, message));
        }
        let mut whole = terminated(limit, (multispace0, cut_err(eof).context(expected("the end"))));
        let found = whole.parse(LocatingSlice::new(text));
        let (figure, (name, name_at), op, (signed, digits, percent)) =
            found.map_err(|error| explained(text, "limit", error.offset(), error.inner()))?;
        let (digits, at) = digits;
        let wrong =
            |message: &str, help: &str| Err(Error::new(text, at.clone(), message).help(help.to_string()));
        let (whole, scale, is_time) = digits;
        let (bound, number) = match (signed, percent) {
            (None, true) => return wrong("a change without a sign", "write `+10%` or `-10%`"),
            (Some(_), true) if is_time => return wrong("a time in percent", "write `+10%` or `+10ms`"),
            (Some(_), true) => (Bound::Percent, whole),
            (Some(_), false) => (Bound::Difference, whole),
            (None, false) => (Bound::Value, whole),
        };
        if !percent && is_time != figure.is_of_durations() && whole != 0 {
            return match is_time {
                true => wrong("a time, but the figure is a number", "write the number without a unit"),
                false => {
                    wrong("a number without a unit, but the figure is a time", "write a unit, such as `ms`")
                }
            };
        }
        let number = number as f64 / 10_f64.powi(scale as i32);
        let number = if signed == Some("-") { -number } else { number };
        Ok(Limit { text: text.to_string(), figure, name, name_at, op, bound, number })
    }

    /// Returns the text of the limit.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what is compared.
    pub fn figure(&self) -> Figure {
        self.figure
    }

    /// Returns the name of an event or span. That of its registry may be in front, with a colon.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns an error about the name. `nearest` is what was probably meant.
    pub fn wrong_name(&self, message: &str, nearest: Option<&str>) -> Error {
        let help = nearest.map(|nearest| format!("did you mean `{nearest}`?"));
        Error::new(&self.text, self.name_at.clone(), message).help(help)
    }

    /// Returns true if the figures of two runs exceed the limit. Without a figure in the first run,
    /// a change is infinite, unless the second has none either.
    pub fn is_exceeded(&self, a: f64, b: f64) -> bool {
        let found = match self.bound {
            Bound::Percent if a == b => 0.0,
            Bound::Percent => (b - a) / a.abs() * 100.0,
            Bound::Difference => b - a,
            Bound::Value => b,
        };
        match self.op {
            Relation::Less => found < self.number,
            Relation::AtMost => found <= self.number,
            Relation::Greater => found > self.number,
            Relation::AtLeast => found >= self.number,
        }
    }
}

type Digits = ((i128, u32, bool), Range<usize>);
type Parts<'t> = (Figure, (String, Range<usize>), Relation, (Option<&'t str>, Digits, bool));

fn limit<'t>(text: &mut Text<'t>) -> ModalResult<Parts<'t>> {
    let word = take_while(1.., |c: char| is_in_name(c) || c == '.');
    let figure = cut_err(preceded(multispace0, word.verify_map(Figure::of)))
        .context(expected("`count`, `rate`, `total`, `mean`, `max`, or a percentile such as `p99`"))
        .parse_next(text)?;
    cut_err(sign("(")).context(expected("`(` and a name")).parse_next(text)?;
    let name = cut_err(preceded(multispace0, a_name)).context(expected("a name")).parse_next(text)?;
    let Operand::Name(name) = name else { return cut_err(winnow::combinator::fail).parse_next(text) };
    cut_err(sign(")")).context(expected("`)`")).parse_next(text)?;
    let op = alt((
        sign("<=").value(Relation::AtMost),
        sign(">=").value(Relation::AtLeast),
        sign("<").value(Relation::Less),
        sign(">").value(Relation::Greater),
    ));
    let op = cut_err(op).context(expected("`>`, `>=`, `<` or `<=`")).parse_next(text)?;
    let signed = opt(alt((sign("+"), sign("-")))).parse_next(text)?;
    let digits = take_while(1.., |c: char| is_in_name(c) || c == '.').verify_map(number);
    let digits = cut_err(preceded(multispace0, digits.with_span()))
        .context(expected("a number such as `+10%`, `+5ms` or `100`"))
        .parse_next(text)?;
    let percent = opt(sign("%")).parse_next(text)?;
    Ok((figure, (name.text, name.span), op, (signed, digits, percent.is_some())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        // With the figures of both runs, and whether they exceed it.
        for (text, a, b, expected) in [
            ("p99(Gc) > +10%", 100.0, 110.0, false),
            ("p99(Gc) > +10%", 100.0, 110.1, true),
            ("p99(Gc) >= +10%", 100.0, 110.0, true),
            ("rate(gc:Alloc) < -5%", 100.0, 94.0, true),
            ("rate(gc:Alloc) < -5%", 100.0, 96.0, false),
            ("count(Alloc)>+0%", 0.0, 0.0, false),
            ("count(Alloc)>+50%", 0.0, 1.0, true),
            ("p99.9(Gc) > 1.5ms", 0.0, 1_500_001.0, true),
            ("max(Gc) > +1us", 5_000.0, 6_000.0, false),
            ("total(Gc) <= 1s", 0.0, 1e9, true),
            (" count ( Alloc ) > 1k ", 0.0, 1025.0, true),
            ("count(Alloc) > 0", 0.0, 0.0, false),
        ] {
            let limit = Limit::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(limit.is_exceeded(a, b), expected, "{text}: {a}, {b}");
        }
    }

    #[test]
    fn errors_name_their_place() {
        for (text, place, message) in [
            ("", "", "the limit ends here, expected `count`, `rate`"),
            ("p0(Gc) > +1%", "p0", "found `p0`, expected `count`, `rate`"),
            ("p999(Gc) > +1%", "p999", "found `p999`, expected `count`"),
            ("p99 > +1%", ">", "found `>`, expected `(` and a name"),
            ("p99() > +1%", ")", "found `)`, expected a name"),
            ("p99(Gc > +1%", ">", "found `>`, expected `)`"),
            ("p99(Gc) = +1%", "=", "found `=`, expected `>`, `>=`, `<` or `<=`"),
            ("p99(Gc) > ", "", "the limit ends here, expected a number"),
            ("p99(Gc) > +x", "x", "found `x`, expected a number"),
            ("p99(Gc) > 10%", "10", "a change without a sign"),
            ("p99(Gc) > +10ms%", "10ms", "a time in percent"),
            ("p99(Gc) > 10", "10", "a number without a unit, but the figure is a time"),
            ("rate(Gc) > 10ms", "10ms", "a time, but the figure is a number"),
            ("p99(Gc) > +10% and", "and", "found `and`, expected the end"),
        ] {
            let error = Limit::parse(text).unwrap_err();
            assert!(error.message.starts_with(message), "{text}: {}", error.message);
            assert_eq!(&text[error.span], place, "{text}");
        }
        assert!(Limit::parse(&"p".repeat(257)).is_err());
    }
}
