//! The text of triggers.
//!
//! ```text
//! triggers  = trigger *( ";" trigger )
//! trigger   = when [ " at most every " time ] ": " action
//! when      = "every " time | "signal " name | event | event "." parameter operator value
//! event     = [ registry ":" ] name
//! operator  = "<" | "<=" | ">" | ">=" | "==" | "!="
//! value     = number [ "k" | "M" | "G" ] | time | name of an enum's value
//! action    = "snapshot " path | "flush" | "set " words " for " time
//! time      = number ( "ns" | "us" | "ms" | "s" | "m" | "h" )
//! ```

use std::path::PathBuf;
use std::time::Duration;

use crate::own::switches::MAX_TIME;
use crate::sys::user_signal_names::NAMES;

/// How long a trigger rests after it was met, unless its text says otherwise.
const DEFAULT_REST: Duration = Duration::from_secs(1);
/// The shortest rest and period.
const MIN_TIME: Duration = Duration::from_millis(10);

/// A trigger as its text says it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trigger {
    pub(crate) when: When,
    /// How long it rests after it was met.
    pub(crate) rest: Duration,
    pub(crate) action: Action,
}

/// When a trigger is met.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum When {
    /// Whenever this time has passed.
    Every(Duration),
    /// When the process gets this signal, an index of [`NAMES`].
    Signal(usize),
    /// When an event occurs that passes the test, if there is one.
    Event {
        /// As a word of control.
        event: String,
        test: Option<Test>,
    },
}

/// A test of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Test {
    pub(crate) param: String,
    pub(crate) operator: Operator,
    pub(crate) value: Wanted,
}

/// What a parameter is compared with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wanted {
    Number(Number),
    /// The name of a value of the parameter's type.
    Name(String),
}

/// A number of any type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Whole(i128),
    Float(f64),
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Unequal,
}

/// What is done when a trigger is met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Snapshot(PathBuf),
    Flush,
    Set(String, Duration),
}

/// The longer ones first.
const OPERATORS: [(&str, Operator); 6] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// Parses several triggers. Returns the error of each that is not one.
pub(crate) fn triggers(text: &str) -> Vec<Result<Trigger, String>> {
    text.split(';').map(str::trim).filter(|text| !text.is_empty()).map(trigger).collect()
}

/// Parses one trigger.
pub(crate) fn trigger(text: &str) -> Result<Trigger, String> {
    let Some((when, action)) = text.split_once(": ") else {
        return Err(format!("found `{text}`, expected a condition, `: ` and an action"));
    };
    let (when, rest) = match when.split_once(" at most every ") {
        Some((when, rest)) => (when, time(rest)?),
        None => (when, DEFAULT_REST),
    };
    let when = match when.trim().split_once(' ') {
        Some(("every", period)) => When::Every(time(period)?),
        Some(("signal", name)) => When::Signal(signal(name.trim())?),
        _ => event(when.trim())?,
    };
    let action = self::action(action.trim())?;
    // Events that these words switch on cannot meet it again while they are on.
    let rest = if let Action::Set(_, time) = &action { rest.max(*time) } else { rest };
    Ok(Trigger { when, rest, action })
}

/// Returns the index of a signal by its name, with or without `SIG`.
fn signal(name: &str) -> Result<usize, String> {
    let name = name.to_ascii_uppercase();
    let bare = name.strip_prefix("SIG").unwrap_or(&name);
    let found = NAMES.iter().position(|known| *known == bare);
    found.ok_or_else(|| format!("found `{name}`, expected a signal of {}", NAMES.join(", ")))
}

fn event(text: &str) -> Result<When, String> {
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ':'))
    };
    let found = text.char_indices().find_map(|(at, _)| {
        let operator = OPERATORS.iter().find(|(sign, _)| text[at..].starts_with(sign))?;
        Some((text[..at].trim(), operator.1, text[at + operator.0.len()..].trim()))
    });
    let Some((left, operator, right)) = found else {
        return match is_name(text) {
            true => Ok(When::Event { event: text.to_owned(), test: None }),
            false => Err(format!(
                "found `{text}`, expected `Event`, `Event.parameter > NUMBER`, `every TIME` or `signal NAME` as the \
                 condition"
            )),
        };
    };
    let (event, param) = left.split_once('.').unwrap_or((left, ""));
    if !is_name(event) || !is_name(param) {
        return Err(format!("found `{left}`, expected `Event.parameter` before the operator"));
    }
    let value = match number(right) {
        Some(number) => Wanted::Number(number),
        None if is_name(right) => Wanted::Name(right.to_owned()),
        None => return Err(format!("found `{right}`, expected a number behind the operator")),
    };
    let test = Test { param: param.to_owned(), operator, value };
    Ok(When::Event { event: event.to_owned(), test: Some(test) })
}

fn action(text: &str) -> Result<Action, String> {
    let (verb, rest) = text.split_once(' ').map_or((text, ""), |(verb, rest)| (verb, rest.trim()));
    match (verb, rest) {
        ("flush", "") => Ok(Action::Flush),
        ("snapshot", path) if !path.is_empty() => Ok(Action::Snapshot(path.into())),
        ("set", rest) => match rest.rsplit_once(" for ") {
            Some((words, time)) if !words.trim().is_empty() => {
                Ok(Action::Set(words.trim().to_owned(), self::time(time)?))
            }
            _ => Err(format!("found `set {rest}`, expected `set WORDS for TIME`")),
        },
        _ => Err(format!("found `{text}`, expected `snapshot PATH`, `flush` or `set WORDS for TIME`")),
    }
}

/// Parses a time between 10 ms and a day.
fn time(text: &str) -> Result<Duration, String> {
    let nanos = nanoseconds(text.trim());
    let time = nanos.and_then(|nanos| u64::try_from(nanos).ok()).map(Duration::from_nanos);
    time.filter(|time| (MIN_TIME..=MAX_TIME).contains(time))
        .ok_or_else(|| format!("found `{text}`, expected a time from `10ms` to `24h`"))
}

fn number(text: &str) -> Option<Number> {
    if let Ok(whole) = text.parse() {
        return Some(Number::Whole(whole));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|bits| Number::Whole(bits.into()));
    }
    for (suffix, shift) in [("k", 10), ("M", 20), ("G", 30)] {
        if let Some(digits) = text.strip_suffix(suffix) {
            return digits.parse::<i64>().ok().map(|whole| Number::Whole(i128::from(whole) << shift));
        }
    }
    if let Some(nanos) = nanoseconds(text) {
        return Some(Number::Whole(nanos));
    }
    // Names such as `inf` and `-nan` are not numbers here.
    let is_number = text.contains(|c: char| c.is_ascii_digit());
    text.parse().ok().filter(|_| is_number).map(Number::Float)
}

fn nanoseconds(text: &str) -> Option<i128> {
    let units: [(&str, i64); 6] = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    units.iter().find_map(|(unit, nanos)| {
        let digits = text.strip_suffix(unit)?.trim_end();
        digits.parse::<i64>().ok().map(|number| i128::from(number) * i128::from(*nanos))
    })
}

impl Number {
    /// Returns true if the number passes the test against another one.
    pub(crate) fn is(self, operator: Operator, other: Number) -> bool {
        let order = match (self, other) {
            (Number::Whole(one), Number::Whole(other)) => Some(one.cmp(&other)),
            (one, other) => one.float().partial_cmp(&other.float()),
        };
        match operator {
            Operator::Less => order.is_some_and(|order| order.is_lt()),
            Operator::AtMost => order.is_some_and(|order| order.is_le()),
            Operator::Greater => order.is_some_and(|order| order.is_gt()),
            Operator::AtLeast => order.is_some_and(|order| order.is_ge()),
            Operator::Equal => order.is_some_and(|order| order.is_eq()),
            Operator::Unequal => order.is_none_or(|order| order.is_ne()),
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Whole(whole) => whole as f64,
            Number::Float(float) => float,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_triggers() {
        let second = Duration::from_secs(1);
        let event = |event: &str, test: Option<(&str, Operator, Wanted)>| When::Event {
            event: event.into(),
            test: test.map(|(param, operator, value)| Test { param: param.into(), operator, value }),
        };
        let check = |text: &str, when: When, rest: Duration, action: Action| {
            assert_eq!(trigger(text), Ok(Trigger { when, rest, action }), "{text}");
        };
        let whole = |whole| Wanted::Number(Number::Whole(whole));
        let snapshot = || Action::Snapshot("/tmp/x.tel".into());
        let size = |value| event("Evict", Some(("size", Operator::Greater, value)));
        check("Evict.size > 1M: snapshot /tmp/x.tel", size(whole(1 << 20)), second, snapshot());
        check("Evict.size>0x10: snapshot  /tmp/x.tel", size(whole(16)), second, snapshot());
        check("Evict.size > -5 at most every 2m: flush", size(whole(-5)), 120 * second, Action::Flush);
        check("Evict.size > 1.5: flush", size(Wanted::Number(Number::Float(1.5))), second, Action::Flush);
        check("Evict.size > 3ms: flush", size(whole(3_000_000)), second, Action::Flush);
        let why = event("gc:Start", Some(("why", Operator::Equal, Wanted::Name("Full".into()))));
        check("gc:Start.why == Full: flush", why, second, Action::Flush);
        check("every 10 s: flush", When::Every(10 * second), second, Action::Flush);
        check("signal usr1: flush", When::Signal(2), second, Action::Flush);
        check("signal SIGHUP at most every 1m: flush", When::Signal(0), 60 * second, Action::Flush);
        let set = Action::Set("Ref -Fix".into(), 5 * second);
        check("Evict: set Ref -Fix for 5s", event("Evict", None), 5 * second, set);
    }

    #[test]
    fn others_are_refused() {
        for (text, expected) in [
            ("Evict", "found `Evict`, expected a condition, `: ` and an action"),
            ("Evict: jump", "found `jump`, expected `snapshot PATH`, `flush` or `set WORDS for TIME`"),
            ("Evict: set Ref", "found `set Ref`, expected `set WORDS for TIME`"),
            ("Evict: set Ref for 2d", "found `2d`, expected a time from `10ms` to `24h`"),
            ("every 1ms: flush", "found `1ms`, expected a time from `10ms` to `24h`"),
            ("every 25h: flush", "found `25h`, expected a time from `10ms` to `24h`"),
            ("signal SEGV: flush", "found `SEGV`, expected a signal of HUP, QUIT, USR1, USR2, WINCH"),
            ("Evict > 5: flush", "found `Evict`, expected `Event.parameter` before the operator"),
            ("Evict.size > : flush", "found ``, expected a number behind the operator"),
            ("Evict.size > -nan: flush", "found `-nan`, expected a number behind the operator"),
            (
                "a b: flush",
                "found `a b`, expected `Event`, `Event.parameter > NUMBER`, `every TIME` or `signal NAME` as the \
                 condition",
            ),
        ] {
            assert_eq!(trigger(text), Err(expected.to_owned()), "{text}");
        }
        assert_eq!(triggers(" ; every 1s: flush;;x").iter().filter(|one| one.is_ok()).count(), 1);
        assert_eq!(triggers(" ; every 1s: flush;;x").len(), 2);
    }

    #[test]
    fn numbers_have_units() {
        let check = |text, expected| assert_eq!(number(text), expected, "{text}");
        for (text, expected) in [
            ("0", 0),
            ("-3", -3),
            ("0xff", 0xff),
            ("3k", 3 << 10),
            ("-3M", -3 << 20),
            ("2G", 2 << 30),
            ("7ns", 7),
            ("7us", 7_000),
            ("7 ms", 7_000_000),
            ("7s", 7_000_000_000),
            ("7m", 420_000_000_000),
            ("7h", 25_200_000_000_000),
        ] {
            check(text, Some(Number::Whole(expected)));
        }
        check("1e3", Some(Number::Float(1e3)));
        check("-.5", Some(Number::Float(-0.5)));
        for text in ["", "k", "0x", "0xg", "1.5k", "inf", "-nan", "High", "s", "1 2"] {
            check(text, None);
        }
    }

    #[test]
    fn times_have_limits() {
        let check = |text: &str, expected: Option<Duration>| assert_eq!(time(text).ok(), expected, "{text}");
        check("10ms", Some(Duration::from_millis(10)));
        check(" 24h ", Some(MAX_TIME));
        check("1440m", Some(MAX_TIME));
        for text in ["9ms", "9999999ns", "-1s", "1441m", "5", "1.5s", ""] {
            check(text, None);
        }
    }

    #[test]
    fn each_operator_has_its_orders() {
        for (sign, orders) in [
            ("<", [true, false, false]),
            ("<=", [true, true, false]),
            (">", [false, false, true]),
            (">=", [false, true, true]),
            ("==", [false, true, false]),
            ("!=", [true, false, true]),
        ] {
            let operator = OPERATORS.iter().find(|(known, _)| *known == sign).expect("an operator").1;
            for other in [Number::Whole(5), Number::Float(5.0)] {
                let found = [4, 5, 6].map(|one| Number::Whole(one).is(operator, other));
                assert_eq!(found, orders, "{sign} {other:?}");
            }
            let text = format!("E.p{sign}5: flush");
            let Ok(Trigger { when: When::Event { test: Some(test), .. }, .. }) = trigger(&text) else {
                panic!("{text}");
            };
            assert_eq!((test.operator, &*test.param), (operator, "p"), "{text}");
        }
    }

    #[test]
    fn numbers_of_two_types_are_compared() {
        let check = |one, operator, other, expected| {
            assert_eq!(Number::is(one, operator, other), expected, "{one:?} {operator:?} {other:?}");
        };
        let (whole, float) = (Number::Whole, Number::Float);
        check(whole(i128::from(u64::MAX)), Operator::Greater, whole(i128::from(u64::MAX) - 1), true);
        check(whole(2), Operator::AtMost, float(2.5), true);
        check(float(2.5), Operator::AtLeast, whole(3), false);
        check(float(f64::NAN), Operator::Equal, whole(3), false);
        check(float(f64::NAN), Operator::Unequal, whole(3), true);
        check(whole(-1), Operator::Less, whole(0), true);
    }
}
