//! One run of one process: what its session and thread blocks say.

use std::collections::BTreeMap;

use toml::Value;

use crate::clock::Clock;

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

    /// Adds a fact, or replaces the one of that key.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some(fact) => fact.1 = value,
            None => self.0.push((key.to_string(), value)),
        }
    }
}
