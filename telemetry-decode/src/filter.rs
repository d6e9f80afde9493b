//! Which events are wanted.

/// Which events are wanted. An empty list wants all; an event must pass every list.
///
/// ```
/// use telemetry_decode::Filter;
/// let filter = Filter { kinds: vec!["Trace".into(), "Pool".into()], from_ns: Some(1_000_000), ..Filter::default() };
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Kinds by name or bit number; with `registry:` before it, those of one registry.
    pub kinds: Vec<Name>,
    /// Events by name or code; with `registry:` before it, those of one registry.
    pub events: Vec<Name>,
    /// Threads by name or the session's number for them.
    pub threads: Vec<Name>,
    /// Sessions by id or by the name of their program.
    pub sessions: Vec<Name>,
    /// Registries by name or fingerprint.
    pub registries: Vec<Name>,
    /// Nothing earlier, in nanoseconds since the session's start.
    pub from_ns: Option<i64>,
    /// Nothing at this time or later, in nanoseconds since the session's start.
    pub until_ns: Option<i64>,
}

impl Filter {
    /// True if times matter.
    pub(crate) fn is_timed(&self) -> bool {
        self.from_ns.is_some() || self.until_ns.is_some()
    }

    /// True of a time that is wanted, in nanoseconds since the session's start.
    pub(crate) fn wants_time(&self, ns: i64) -> bool {
        self.from_ns.is_none_or(|from| from <= ns) && self.until_ns.is_none_or(|until| ns < until)
    }
}

/// The name of something, or its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    /// A number.
    Number(u64),
    /// A name.
    Text(String),
}

/// Decimal digits, or `0x` and hexadecimal ones, are a number.
impl From<&str> for Name {
    fn from(text: &str) -> Self {
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        number.map_or_else(|_| Name::Text(text.to_string()), Name::Number)
    }
}

impl From<u64> for Name {
    fn from(number: u64) -> Self {
        Name::Number(number)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Number(number) => write!(f, "{number}"),
            Name::Text(text) => f.write_str(text),
        }
    }
}

impl Name {
    /// True if this is the number or the name of something in a registry, alone or behind `registry:`.
    pub(crate) fn is_of(&self, registry: &str, number: u64, name: &str) -> bool {
        let rest = match self {
            Name::Text(wanted) => {
                wanted.split_once(':').filter(|(of, _)| *of == registry).map(|(_, rest)| rest)
            }
            Name::Number(_) => None,
        };
        self.is(number, name) || rest.is_some_and(|rest| Name::from(rest).is(number, name))
    }

    /// True if this is the number or the name of something.
    pub fn is(&self, number: u64, name: &str) -> bool {
        match self {
            Name::Number(wanted) => *wanted == number,
            Name::Text(wanted) => wanted == name,
        }
    }
}
