//! What `[[rule]]` says of the order of events.

use crate::model::counter::CounterPer;

/// A rule about events, which readers check. It decides nothing about how a stream is read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventRule {
    /// `CamelCase`.
    pub name: String,
    /// What must be so.
    pub form: RuleForm,
    /// The parameter whose values the rule holds for one by one. All events that it compares have
    /// it: the two events of [`RuleForm::Comes`], the event and the begin of the span of
    /// [`RuleForm::Never`], the begin of the span of [`RuleForm::AtMost`].
    pub by: Option<String>,
    /// Whether the rule holds for each thread alone.
    pub per: CounterPer,
    /// The reason of the rule.
    pub doc: String,
}

/// What a rule demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleForm {
    /// After one event comes another one.
    Comes {
        /// Index into [`Registry::events`](crate::Registry::events).
        after: usize,
        /// Index of another event.
        comes: usize,
        /// The longest time between the two, in nanoseconds, at most `i64::MAX`. Without it, the
        /// second comes before the session ends.
        within_ns: Option<u64>,
    },
    /// An event does not come while a span is open.
    Never {
        /// Index into [`Registry::events`](crate::Registry::events).
        never: usize,
        /// Index into [`Registry::spans`](crate::Registry::spans).
        open: usize,
    },
    /// The number of open spans of a name has a limit.
    AtMost {
        /// The highest number of open spans.
        at_most: u32,
        /// Index into [`Registry::spans`](crate::Registry::spans).
        open: usize,
    },
}

impl EventRule {
    /// Returns a rule for the whole process.
    pub fn new(name: impl Into<String>, form: RuleForm) -> EventRule {
        EventRule { name: name.into(), form, by: None, per: CounterPer::Process, doc: String::new() }
    }
}

impl RuleForm {
    /// Returns the longest time between two events, as a registry file has it: `10 ms`.
    pub fn within_text(&self) -> Option<String> {
        match self {
            RuleForm::Comes { within_ns, .. } => within_ns.map(ns_text),
            RuleForm::Never { .. } | RuleForm::AtMost { .. } => None,
        }
    }
}

/// Units of time, the longest first, with their nanoseconds.
pub(crate) const UNITS: [(&str, u64); 4] =
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// The most digits of a time, so that its nanoseconds always fit.
const MAX_DIGITS: usize = 9;

/// Returns the nanoseconds of a text such as `10 ms`.
pub(crate) fn ns_of(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > MAX_DIGITS || text.starts_with('0') {
        return None;
    }
    let (number, unit) = text.split_at(digits);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let (_, ns) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    Some(number.parse::<u64>().ok()? * ns)
}

/// Returns a time as [`ns_of`] reads it, in the longest unit without a fraction.
pub(crate) fn ns_text(ns: u64) -> String {
    let whole = UNITS.into_iter().find(|(_, unit)| ns.is_multiple_of(*unit));
    let (name, unit) = whole.unwrap_or(("ns", 1));
    format!("{} {name}", ns / unit)
}

#[cfg(test)]
mod tests {
    use super::{ns_of, ns_text};

    #[test]
    fn times_have_a_unit() {
        let check = |text, expected| assert_eq!(ns_of(text), expected, "{text}");
        check("10 ms", Some(10_000_000));
        check("10ms", Some(10_000_000));
        check("1 ns", Some(1));
        check("250 us", Some(250_000));
        check("999999999 s", Some(999_999_999_000_000_000));
        check("1000000000 s", None);
        check("0 s", None);
        check("05 s", None);
        check("10", None);
        check("10  ms", None);
        check("1.5 s", None);
        check("-1 s", None);
        check("1 min", None);
        check("", None);
    }

    #[test]
    fn a_time_is_written_in_its_longest_unit() {
        for (ns, text) in [(10_000_000, "10 ms"), (1_500, "1500 ns"), (60_000_000_000, "60 s")] {
            assert_eq!(ns_text(ns), text);
            assert_eq!(ns_of(text), Some(ns));
        }
    }
}
