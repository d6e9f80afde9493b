//! One run of one process: what its session and thread blocks say.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;
use toml::de::{DeTable, ValueDeserializer};

use crate::clock::Clock;
use crate::labels::Labels;

/// One run of one process.
#[derive(Debug, Clone)]
pub struct Session {
    /// A number that no other run has.
    pub id: u64,
    /// What the session block says of the run.
    pub facts: Facts,
    /// From ticks to time.
    pub clock: Clock,
    /// Its threads by the session's own number for them, from 1. A thread without a thread block is
    /// not among them.
    pub threads: BTreeMap<u32, Facts>,
    /// Its labels. Of a pipe in stream order those found so far; none where only headers are read; else all.
    pub labels: Labels,
    /// False if no session block was found: the events are there, the facts are not, and time counts
    /// from the first block.
    pub declared: bool,
    /// True if the session says that it ended in good order.
    pub ended: bool,
}

impl Session {
    /// The name of a thread, where the stream has one.
    pub fn thread_name(&self, thread: u32) -> Option<&str> {
        self.threads.get(&thread)?.text("name")
    }
}

/// What a session or thread block says, in the writer's order. Keys that this version does not know
/// are kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts(Vec<(String, Value)>);

impl Facts {
    /// All facts in the writer's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The fact of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The fact of a key that is text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// The fact of a key that is a number from 0.
    pub fn number(&self, key: &str) -> Option<u64> {
        u64::try_from(self.get(key)?.as_integer()?).ok()
    }

    /// True if nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the payload of a block. What cannot be read is left out, and said.
    pub(crate) fn read(payload: &[u8]) -> (Facts, Option<String>) {
        let text = String::from_utf8_lossy(payload);
        let (table, mut errors) = DeTable::parse_recoverable(&text);
        let mut facts: Vec<_> = table.into_inner().into_iter().collect();
        facts.sort_by_key(|(key, _)| key.span().start);
        let facts = facts.into_iter().filter_map(|(key, value)| {
            let value = Value::deserialize(ValueDeserializer::from(value));
            Some((key.into_inner().into_owned(), value.ok()?))
        });
        let wrong = errors.pop().map(|error| error.message().to_string());
        (Facts(facts.collect()), wrong)
    }

    /// The payload of a block that says this.
    pub(crate) fn to_toml(&self) -> String {
        let lines = self.0.iter().map(|(key, value)| {
            let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let bare = !key.is_empty() && key.chars().all(is_bare);
            let key = if bare { key.clone() } else { Value::from(key.as_str()).to_string() };
            format!("{key} = {value}\n")
        });
        lines.collect()
    }

    /// Adds a fact, or replaces the one of that key.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some(fact) => fact.1 = value,
            None => self.0.push((key.to_string(), value)),
        }
    }
}
