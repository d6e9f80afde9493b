//! The selection of events.

use std::sync::Arc;

use crate::registry::condition::{Condition, SharedCondition};

/// A selection of events. An empty list selects all; an event must pass every list.
///
/// ```
/// use telemetry_decode::Filter;
/// let filter = Filter::default().kinds(["Trace", "Pool"]).from_ns(1_000_000);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Filter {
    /// Kinds by name or bit number; with `registry:` before it, those of one registry.
    pub kinds: Vec<Selector>,
    /// Events by name or code, or by a preset that has them; with `registry:` before it, those of
    /// one registry.
    pub events: Vec<Selector>,
    /// Threads by name or the session's number for them.
    pub threads: Vec<Selector>,
    /// Sessions by id or by the name of their program.
    pub sessions: Vec<Selector>,
    /// Registries by name or fingerprint.
    pub registries: Vec<Selector>,
    /// Selects no earlier event; in nanoseconds since the session's start.
    pub from_ns: Option<i64>,
    /// Selects no event at this time or later; in nanoseconds since the session's start.
    pub until_ns: Option<i64>,
    /// Gives no value of a sensitive parameter. The reader sets it.
    pub(crate) hides_sensitive: bool,
    /// With it, hides what tells all strings of labels, too.
    pub(crate) hides_labels: bool,
    /// Selects events by their values. Typed readers do not support it.
    #[doc(hidden)]
    pub condition: Option<SharedCondition>,
}

impl Filter {
    /// Adds kinds.
    pub fn kinds(mut self, kinds: impl IntoIterator<Item: Into<Selector>>) -> Self {
        self.kinds.extend(kinds.into_iter().map(Into::into));
        self
    }

    /// Adds events.
    pub fn events(mut self, events: impl IntoIterator<Item: Into<Selector>>) -> Self {
        self.events.extend(events.into_iter().map(Into::into));
        self
    }

    /// Adds threads.
    pub fn threads(mut self, threads: impl IntoIterator<Item: Into<Selector>>) -> Self {
        self.threads.extend(threads.into_iter().map(Into::into));
        self
    }

    /// Adds sessions.
    pub fn sessions(mut self, sessions: impl IntoIterator<Item: Into<Selector>>) -> Self {
        self.sessions.extend(sessions.into_iter().map(Into::into));
        self
    }

    /// Adds registries.
    pub fn registries(mut self, registries: impl IntoIterator<Item: Into<Selector>>) -> Self {
        self.registries.extend(registries.into_iter().map(Into::into));
        self
    }

    /// Sets the first selected time, in nanoseconds since the session's start.
    pub fn from_ns(self, from_ns: impl Into<Option<i64>>) -> Self {
        Filter { from_ns: from_ns.into(), ..self }
    }

    /// Sets the end of the selected time, in nanoseconds since the session's start.
    pub fn until_ns(self, until_ns: impl Into<Option<i64>>) -> Self {
        Filter { until_ns: until_ns.into(), ..self }
    }

    /// Returns true if it selects all events.
    pub(crate) fn selects_all(&self) -> bool {
        let Filter { hides_sensitive, hides_labels, .. } = *self;
        *self == Filter { hides_sensitive, hides_labels, ..Filter::default() }
    }

    /// Hides what tells all strings of labels, unless the reader shows sensitive values. For an
    /// input that grows: a sensitive parameter of a later registry may stand for such strings.
    #[doc(hidden)]
    pub fn hide_labels(self) -> Self {
        Filter { hides_labels: true, ..self }
    }

    /// Sets the condition on the values of events. Typed readers ignore it.
    #[doc(hidden)]
    pub fn condition(self, condition: impl Into<Option<Arc<dyn Condition>>>) -> Self {
        Filter { condition: condition.into().map(SharedCondition), ..self }
    }

    /// Returns true if the filter depends on times.
    pub(crate) fn is_timed(&self) -> bool {
        self.from_ns.is_some() || self.until_ns.is_some()
    }

    /// Returns true if a time is selected, in nanoseconds since the session's start.
    pub(crate) fn wants_time(&self, ns: i64) -> bool {
        self.from_ns.is_none_or(|from| from <= ns) && self.until_ns.is_none_or(|until| ns < until)
    }
}

/// The name or the number of something. Case does not matter in names, as in the words of control.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Selector {
    /// A number.
    Number(u64),
    /// A name.
    Text(String),
}

/// Decimal digits, or `0x` and hexadecimal digits, are a number.
impl From<&str> for Selector {
    fn from(text: &str) -> Self {
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        number.map_or_else(|_| Selector::Text(text.to_string()), Selector::Number)
    }
}

impl From<u64> for Selector {
    fn from(number: u64) -> Self {
        Selector::Number(number)
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Selector::Number(number) => write!(f, "{number}"),
            Selector::Text(text) => f.write_str(text),
        }
    }
}

impl Selector {
    /// Returns true if this is the number or the name of something in a registry, alone or after
    /// `registry:`.
    pub(crate) fn is_of(&self, registry: &str, number: u64, name: &str) -> bool {
        let rest = match self {
            Selector::Text(wanted) => {
                let split = wanted.split_once(':');
                split.filter(|(of, _)| of.eq_ignore_ascii_case(registry)).map(|(_, rest)| rest)
            }
            Selector::Number(_) => None,
        };
        self.is(number, name) || rest.is_some_and(|rest| Selector::from(rest).is(number, name))
    }

    /// Returns true if this is the name of a preset of a registry, alone or after `registry:`.
    pub(crate) fn is_preset(&self, registry: &str, name: &str) -> bool {
        let Selector::Text(wanted) = self else { return false };
        let bare = match wanted.split_once(':') {
            Some((of, bare)) if of.eq_ignore_ascii_case(registry) => bare,
            Some(_) => return false,
            None => wanted,
        };
        bare.eq_ignore_ascii_case(name)
    }

    /// Returns true if this is the number or the name of something.
    pub fn is(&self, number: u64, name: &str) -> bool {
        match self {
            Selector::Number(wanted) => *wanted == number,
            Selector::Text(wanted) => wanted.eq_ignore_ascii_case(name),
        }
    }
}
