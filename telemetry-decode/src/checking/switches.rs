//! The switches of events that a session changed, as its own events tell.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use telemetry_schema::{Registry, control};

use crate::values::value::Value;

/// The most changes that are remembered, and the most events that limits left out. Beyond it, no
/// event counts as switched off or left out.
const MAX_CHANGES: usize = 1_000;

/// Registry and event as the caller numbers them, and a word.
type EventAndWord = ((usize, usize), Box<str>);

/// The changes of all sessions.
#[derive(Debug, Default)]
pub(super) struct Switches {
    /// By session, in the order of time.
    changes: HashMap<u64, Vec<Change>>,
    count: usize,
    /// When a limit first left out an event: by session, registry and event.
    left_out: HashMap<(u64, Box<str>, Box<str>), i64>,
    /// Events that occurred: session, and registry and event as the caller numbers them.
    seen: HashSet<(u64, (usize, usize))>,
    /// By event and word, if the word names the event. To find that out takes a while.
    names: RefCell<HashMap<EventAndWord, bool>>,
}

#[derive(Debug)]
struct Change {
    ns: i64,
    word: Box<str>,
    is_on: bool,
}

impl Switches {
    /// Takes the values of an event `ControlChange`.
    pub(super) fn note<'v>(&mut self, session: u64, ns: i64, value: impl Fn(&str) -> Option<Value<'v>>) {
        let named = |name| match value(name) {
            Some(Value::Named(value)) => value.name(),
            _ => None,
        };
        let (Some("Output"), Some(action)) = (named("mask"), named("action")) else { return };
        let Some(Value::String(words)) = value("words") else { return };
        let changes = self.changes.entry(session).or_default();
        for word in String::from_utf8_lossy(words.0).split_ascii_whitespace() {
            if self.count == MAX_CHANGES {
                return;
            }
            let (word, adds) = control::sign(word);
            self.count += 1;
            // A caller that sorts by time notes changes as they arrive.
            let place = changes.partition_point(|change| change.ns <= ns);
            changes.insert(place, Change { ns, word: word.into(), is_on: adds == (action == "Set") });
        }
    }

    /// Takes the values of an event `EventsLeftOut`.
    pub(super) fn note_left_out<'v>(
        &mut self,
        session: u64,
        ns: i64,
        value: impl Fn(&str) -> Option<Value<'v>>,
    ) {
        let text = |name| match value(name) {
            Some(Value::String(text)) => Some(Box::from(String::from_utf8_lossy(text.0))),
            _ => None,
        };
        let number = |name| match value(name) {
            Some(Value::Unsigned(number)) => number,
            _ => 0,
        };
        let (Some(registry), Some(event)) = (text("registry"), text("event")) else { return };
        // It was told before, in what this reader does not have.
        let is_first = number("so_far") <= number("left_out");
        let key = (session, registry, event);
        if self.left_out.len() < MAX_CHANGES || self.left_out.contains_key(&key) {
            let first = self.left_out.entry(key).or_insert(if is_first { ns } else { i64::MIN });
            *first = ns.min(*first);
        }
    }

    /// Returns true if a limit has left out events of a type before a time.
    pub(super) fn was_left_out(&self, session: u64, registry: &str, event: &str, until_ns: i64) -> bool {
        let first = self.left_out.get(&(session, registry.into(), event.into()));
        first.is_some_and(|&ns| ns <= until_ns)
    }

    /// Notes that an event occurred.
    pub(super) fn saw(&mut self, session: u64, event: (usize, usize)) {
        self.seen.insert((session, event));
    }

    /// Returns true if an event was switched off at any time from one moment to another.
    pub(super) fn was_off(
        &self,
        (session, event): (u64, (usize, usize)),
        registry: &Registry,
        from_ns: i64,
        until_ns: i64,
    ) -> bool {
        let Some(changes) = self.changes.get(&session).filter(|_| self.count < MAX_CHANGES) else {
            return false;
        };
        let schema = &registry.events[event.1];
        // An event that occurred was on, even if the change is no longer in the stream.
        let mut is_on = self.seen.contains(&(session, event));
        let mut names = self.names.borrow_mut();
        let mut is_named = |word: &str| {
            *names.entry((event, word.into())).or_insert_with(|| registry.is_named(word, schema))
        };
        let mut changes = changes.iter().filter(|change| is_named(&change.word)).peekable();
        while let Some(change) = changes.next_if(|change| change.ns <= from_ns) {
            is_on = change.is_on;
        }
        !is_on || changes.any(|change| change.ns <= until_ns && !change.is_on)
    }
}
