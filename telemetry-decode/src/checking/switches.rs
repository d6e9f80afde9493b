//! The switches of events that a session changed, as its own events tell.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use telemetry_schema::{Registry, control};

use crate::values::value::Value;

/// The most changes that are remembered. Beyond it, no event counts as switched off.
const MAX_CHANGES: usize = 1_000;

/// Registry and event as the caller numbers them, and a word.
type EventAndWord = ((usize, usize), Box<str>);

/// The changes of all sessions.
#[derive(Debug, Default)]
pub(super) struct Switches {
    /// By session, in the order of time.
    changes: HashMap<u64, Vec<Change>>,
    count: usize,
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
