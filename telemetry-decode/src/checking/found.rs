//! What a check finds.

use crate::checking::rule::CheckedRule;
use crate::report::gaps::Gaps;
use crate::values::key::Key;

/// The place of an event that a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moment {
    /// The session's number for the thread.
    pub thread: u32,
    /// Nanoseconds since the start of the session.
    pub ns: i64,
    /// The clock reading.
    pub ticks: u64,
    /// Where the event begins in the input, in bytes.
    pub offset: u64,
    /// The number of the event among those that the checker was given one by one, from 0.
    pub number: u64,
}

/// A rule that is broken, or seems to be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broken {
    /// The rule, as an index into [`Checker::rules`](super::checker::Checker::rules).
    pub rule: usize,
    /// Session id.
    pub session: u64,
    /// The value of the rule's `by`.
    pub key: Key,
    /// The event that the rule begins with, or the begin of the span that was open longest.
    pub first: Moment,
    /// The event that breaks the rule; `None` if one did not come.
    pub second: Option<Moment>,
    /// How the rule is broken.
    pub how: How,
    /// True if an event that may explain it was off meanwhile, or is not compiled in.
    pub was_off: bool,
    /// True if such an event may have been left out by a limit of the registry.
    pub was_left_out: bool,
}

/// How a rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// An event did not come in time, and may still come. Only [`Checker::overdue`] finds it; what
    /// became of it follows.
    ///
    /// [`Checker::overdue`]: super::checker::Checker::overdue
    Overdue,
    /// An event came too late.
    Late,
    /// An event did not come.
    Missing,
    /// An event came while a span was open.
    WhileOpen,
    /// This number of spans were open at once.
    TooMany(u64),
}

impl How {
    /// Returns its word in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            How::Overdue => "overdue",
            How::Late => "late",
            How::Missing => "missing",
            How::WhileOpen => "while-open",
            How::TooMany(_) => "too-many",
        }
    }
}

impl Broken {
    /// Returns true if no missing event, no switch and no limit can explain it. Otherwise the rule
    /// is not decided.
    pub fn is_certain(&self, rule: &CheckedRule, gaps: &Gaps) -> bool {
        let until = self.second.map_or(u64::MAX, |second| second.ticks);
        // What is missing may have been on any thread, unless it must be of the same one.
        let thread = rule.is_of_thread.then_some(self.first.thread);
        let kind = (self.session, rule.fingerprint, rule.explaining_kind);
        !self.was_off && !self.was_left_out && gaps.are_none(kind, thread, self.first.ticks, until)
    }

    /// Returns what happened, in a sentence without a period.
    pub fn text(&self, rule: &CheckedRule) -> String {
        let CheckedRule { first, second, span, .. } = rule;
        let within = rule.rule.form.within_text();
        let limit = within.as_ref().map_or(String::new(), |within| format!(", expected within {within}"));
        match self.how {
            How::Overdue => {
                let within = within.unwrap_or_default();
                format!("`{second}` has not come within {within} after `{first}`")
            }
            How::Late => {
                let end = self.second.map_or(self.first.ns, |second| second.ns);
                let took = duration(end.saturating_sub(self.first.ns));
                format!("`{second}` came {took} after `{first}`{limit}")
            }
            How::Missing => format!("`{second}` did not come after `{first}`{limit}"),
            How::WhileOpen => format!("`{second}` came while span `{span}` was open"),
            How::TooMany(number) => {
                let most = rule.most();
                format!("{number} spans `{span}` were open at once, expected at most {most}")
            }
        }
    }
}

/// Returns a duration in the longest unit, with up to three decimals.
fn duration(ns: i64) -> String {
    let (unit, name) = match ns {
        1_000_000_000.. => (1_000_000_000, "s"),
        1_000_000.. => (1_000_000, "ms"),
        1_000.. => (1_000, "us"),
        _ => return format!("{ns} ns"),
    };
    // Truncated, so that the figure is not above the true one.
    let thousandths = (ns % unit).saturating_mul(1_000) / unit;
    let decimals = format!(".{thousandths:03}");
    let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
    format!("{}{decimals} {name}", ns / unit)
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_have_the_longest_unit() {
        let check = |ns, expected| assert_eq!(duration(ns), expected);
        check(0, "0 ns");
        check(999, "999 ns");
        check(1_000, "1 us");
        check(12_345_678, "12.345 ms");
        check(12_500_000, "12.5 ms");
        check(60_000_000_001, "60 s");
    }
}
