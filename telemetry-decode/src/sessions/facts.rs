//! The facts of a session or thread block.

use toml::de::{DeTable, DeValue};

use crate::sessions::fact::Fact;

/// The facts in a session or thread block, in the writer's order. Unknown keys are kept.
///
/// ```
/// use telemetry_decode::Facts;
///
/// let mut facts = Facts::default();
/// facts.set("program", "cache");
/// facts.set("pid", 4711);
/// assert_eq!((facts.text("program"), facts.number("pid")), (Some("cache"), Some(4711)));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts(Vec<(String, Fact)>);

/// The overhead of an entry in a list or table, with that of the allocator.
const ENTRY_OVERHEAD: usize = 128;

fn room_of(value: &Fact) -> usize {
    match value {
        Fact::Text(text) | Fact::Date(text) => text.len(),
        Fact::List(values) => values.iter().map(|value| ENTRY_OVERHEAD + room_of(value)).sum(),
        Fact::Table(values) => {
            values.iter().map(|(key, value)| ENTRY_OVERHEAD + key.len() + room_of(value)).sum()
        }
        Fact::Integer(_) | Fact::Float(_) | Fact::Bool(_) => 0,
    }
}

/// Converts a parsed value. Returns `None` for a number that does not fit.
fn value_of(value: DeValue<'_>) -> Option<Fact> {
    Some(match value {
        DeValue::String(text) => Fact::Text(text.into_owned()),
        DeValue::Integer(number) => Fact::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok()?),
        DeValue::Float(number) => Fact::Float(number.as_str().parse().ok()?),
        DeValue::Boolean(truth) => Fact::Bool(truth),
        DeValue::Datetime(date) => Fact::Date(date.to_string()),
        DeValue::Array(values) => {
            let values = values.into_iter().map(|value| value_of(value.into_inner()));
            Fact::List(values.collect::<Option<_>>()?)
        }
        DeValue::Table(entries) => {
            let entries = entries
                .into_iter()
                .map(|(key, value)| Some((key.into_inner().into_owned(), value_of(value.into_inner())?)));
            Fact::Table(entries.collect::<Option<_>>()?)
        }
    })
}

impl Facts {
    /// Returns all facts in the writer's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Fact)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the fact with a key.
    pub fn get(&self, key: &str) -> Option<&Fact> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the fact with a key, if it is text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// Returns the fact with a key, if it is an integer from 0.
    pub fn number(&self, key: &str) -> Option<u64> {
        u64::try_from(self.get(key)?.as_integer()?).ok()
    }

    /// Returns the approximate memory that the facts take.
    pub(crate) fn room(&self) -> usize {
        if self.0.is_empty() {
            return 0;
        }
        ENTRY_OVERHEAD
            + self.0.iter().map(|(key, value)| ENTRY_OVERHEAD + key.len() + room_of(value)).sum::<usize>()
    }

    /// Returns true if there are no facts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the payload of a block. Returns an error text for facts that cannot be read.
    pub(crate) fn read(payload: &[u8]) -> (Facts, Option<String>) {
        let text = String::from_utf8_lossy(payload);
        let (table, mut errors) = DeTable::parse_recoverable(&text);
        let mut facts: Vec<_> = table.into_inner().into_iter().collect();
        facts.sort_by_key(|(key, _)| key.span().start);
        let facts = facts
            .into_iter()
            .filter_map(|(key, value)| Some((key.into_inner().into_owned(), value_of(value.into_inner())?)));
        let wrong = errors.pop().map(|error| error.message().to_string());
        (Facts(facts.collect()), wrong)
    }

    /// Returns the payload of a block with these facts.
    pub(crate) fn to_toml(&self) -> String {
        let lines = self.0.iter().map(|(key, value)| {
            let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let bare = !key.is_empty() && key.chars().all(is_bare);
            let key = if bare { key.clone() } else { Fact::from(key.as_str()).to_string() };
            format!("{key} = {value}\n")
        });
        lines.collect()
    }

    /// Removes the fact with a key.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name != key);
    }

    /// Adds a fact, or replaces the one with that key.
    pub fn set(&mut self, key: &str, value: impl Into<Fact>) {
        let value = value.into();
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some(fact) => fact.1 = value,
            None => self.0.push((key.to_string(), value)),
        }
    }
}
