//! Which events a stream has. The build of the program decides, and so do words: those of its
//! start, those of its switches, and those of the stream's sink.

use std::cell::RefCell;
use std::collections::HashMap;

use telemetry_schema::{Event, Registry, control};

use crate::sessions::session::Session;
use crate::values::value::Value;

/// The most changes that are remembered, the most words of the start, and the most events that
/// limits left out. Beyond it, no event counts as off or left out. With more words of a sink, all
/// events count as off.
const MAX_CHANGES: usize = 1_000;

/// The facts of a session that are words of its start, as runtimes write them.
const WORDS: [(&str, Mask); 2] = [("control_at_start", Mask::Output), ("record_at_start", Mask::Record)];

/// The time of the words of the start: before all events.
const START: i64 = i64::MIN;

/// Registry and event as the caller numbers them, and a word.
type EventAndWord = ((usize, usize), Box<str>);

/// The switches of all sessions.
#[derive(Debug, Default)]
pub(super) struct Switches {
    sessions: HashMap<u64, OfSession>,
    /// The session whose facts were taken last.
    latest: Option<u64>,
    /// Words have no effect on which events come.
    ignores_words: bool,
    /// Number of words in changes.
    count: usize,
    /// When a limit first left out an event: by session, registry and event.
    left_out: HashMap<(u64, Box<str>, Box<str>), i64>,
    /// When events first occurred: by session, and registry and event as the caller numbers them.
    seen: HashMap<(u64, (usize, usize)), i64>,
    /// By event and word, if the word names the event. To find that out takes a while.
    names: RefCell<HashMap<EventAndWord, bool>>,
}

/// The switches of a session.
#[derive(Debug, Default)]
struct OfSession {
    /// The facts of the session were taken.
    is_begun: bool,
    build: Build,
    /// In the order of time.
    changes: Vec<Change>,
    /// The words of the stream's sink, if it has words of its own, each with whether it adds.
    sink_words: Option<Vec<(Box<str>, bool)>>,
}

/// Which events are compiled in.
#[derive(Debug, Default)]
enum Build {
    /// All, or that is not known.
    #[default]
    Cool,
    /// Those whose `always` is true.
    Hot,
    /// None.
    Rash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mask {
    /// What is output.
    Output,
    /// What is recorded, whether or not it is output.
    Record,
}

#[derive(Debug)]
struct Change {
    ns: i64,
    mask: Mask,
    word: Box<str>,
    is_on: bool,
}

/// The switches of an event from a time on.
#[derive(Debug, Clone, Copy)]
struct State {
    ns: i64,
    is_output: bool,
    is_recorded: bool,
    /// Any event of its kind is output. Sinks then get all recorded events of the kind.
    is_kind_output: bool,
}

impl Switches {
    /// Takes no words from now on: they have no effect on which events come.
    pub(super) fn ignore_words(&mut self) {
        self.ignores_words = true;
    }

    /// Takes the facts of a session, if it has not yet.
    pub(super) fn begin(&mut self, session: &Session) {
        if self.latest == Some(session.id) || !session.declared {
            return;
        }
        self.latest = Some(session.id);
        let of = self.sessions.entry(session.id).or_default();
        if std::mem::replace(&mut of.is_begun, true) {
            return;
        }
        of.build = Build::of(session.facts.text("variety"));
        let sink_words = session.facts.text(Session::SINK_WORDS).filter(|_| !self.ignores_words);
        of.sink_words = sink_words.map(signed);
        for (key, mask) in WORDS {
            let words = session.facts.text(key).filter(|_| !self.ignores_words).unwrap_or_default();
            if words.split_ascii_whitespace().count() < MAX_CHANGES {
                of.change(START, mask, words, true);
            }
        }
    }

    /// Takes the values of an event `ControlChange`.
    pub(super) fn note<'v>(&mut self, session: u64, ns: i64, value: impl Fn(&str) -> Option<Value<'v>>) {
        let named = |name| match value(name) {
            Some(Value::Named(value)) => value.name(),
            _ => None,
        };
        let (Some(mask), Some(action)) = (named("mask").and_then(Mask::of), named("action")) else { return };
        let Some(Value::String(words)) = value("words") else { return };
        let words = String::from_utf8_lossy(words.0);
        if self.ignores_words {
            return;
        }
        self.count = self.count.saturating_add(words.split_ascii_whitespace().count());
        if self.count < MAX_CHANGES {
            self.sessions.entry(session).or_default().change(ns, mask, &words, action == "Set");
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
    pub(super) fn saw(&mut self, session: u64, event: (usize, usize), ns: i64) {
        let first = self.seen.entry((session, event)).or_insert(ns);
        *first = ns.min(*first);
    }

    /// Returns true if an event was off at any time from one moment to another: its build does not
    /// have it, or words did not name it, those of the control or those of the stream's sink.
    pub(super) fn was_off(
        &self,
        (session, event): (u64, (usize, usize)),
        registry: &Registry,
        from_ns: i64,
        until_ns: i64,
    ) -> bool {
        let Some(of) = self.sessions.get(&session) else { return false };
        let has_occurred = self.seen.contains_key(&(session, event));
        if !has_occurred && !of.build.has(&registry.events[event.1]) {
            return true;
        }
        if !self.is_for_sink(of, event, registry) {
            return true;
        }
        if of.changes.is_empty() || self.count >= MAX_CHANGES {
            return false;
        }
        let states = self.states(of, (session, event), registry);
        // A stream that has the kind although it was never output has all that was recorded: it is
        // a snapshot or a memory image.
        let has_recorded = states.iter().all(|state| !state.is_kind_output)
            && peers(event, registry).any(|peer| self.seen.contains_key(&(session, peer)));
        let is_on =
            |state: &State| state.is_output || state.is_recorded && (state.is_kind_output || has_recorded);
        // The first state is that of the start.
        let (before, later) = states.split_at(states.partition_point(|state| state.ns <= from_ns));
        let was_on = before.last().is_some_and(is_on);
        !was_on || later.iter().any(|state| state.ns <= until_ns && !is_on(state))
    }

    /// Returns true if the stream's sink gets an event for certain: its own words name it, or it
    /// has none. Further events of its kinds come if they are recorded for another reason. The
    /// stream does not tell all reasons: words of other sinks, and switches before this sink came.
    fn is_for_sink(&self, of: &OfSession, event: (usize, usize), registry: &Registry) -> bool {
        let Some(words) = &of.sink_words else { return true };
        let last = words.iter().rev().find(|(word, _)| self.is_named(word, event, registry));
        last.is_some_and(|(_, adds)| *adds)
    }

    /// Returns true if a word names an event.
    fn is_named(&self, word: &str, event: (usize, usize), registry: &Registry) -> bool {
        let named = || registry.is_named(word, &registry.events[event.1]);
        *self.names.borrow_mut().entry((event, word.into())).or_insert_with(named)
    }

    /// Returns the switches of an event, in the order of time.
    fn states(
        &self,
        of: &OfSession,
        (session, event): (u64, (usize, usize)),
        registry: &Registry,
    ) -> Vec<State> {
        let is_named = |word: &str, event: (usize, usize)| self.is_named(word, event, registry);
        // An event that occurred before any change of it was on from the start. If another change
        // switched it on, that one is no longer in the stream.
        let first = of.changes.iter().find(|change| is_named(&change.word, event));
        let was_on = self.seen.get(&(session, event)).is_some_and(|seen| match first {
            None => true,
            Some(change) => !change.is_on && *seen <= change.ns,
        });
        let start = State { ns: START, is_output: was_on, is_recorded: false, is_kind_output: was_on };
        let mut states = vec![start];
        // The other events of the kind matter only to one that is recorded without being output.
        let is_recorded = of.changes.iter().any(|change| change.mask == Mask::Record);
        let others = peers(event, registry).filter(|peer| is_recorded && *peer != event);
        let mut others: Vec<_> = others.map(|peer| (peer, false)).collect();
        let mut now = start;
        for change in &of.changes {
            let Change { ns, mask, word, is_on } = change;
            if is_named(word, event) {
                match mask {
                    Mask::Output => now.is_output = *is_on,
                    Mask::Record => now.is_recorded = *is_on,
                }
            }
            if *mask == Mask::Output {
                for (peer, is_output) in &mut others {
                    if is_named(word, *peer) {
                        *is_output = *is_on;
                    }
                }
            }
            now.ns = *ns;
            now.is_kind_output = now.is_output || others.iter().any(|(_, is_output)| *is_output);
            // The words of one change have an effect together.
            match states.last_mut().filter(|last| last.ns == *ns) {
                Some(last) => *last = now,
                None => states.push(now),
            }
        }
        states
    }
}

/// Returns the words of a sink, each with whether it adds. Returns none of too many.
fn signed(words: &str) -> Vec<(Box<str>, bool)> {
    let words = words.split_ascii_whitespace().map(control::sign);
    let words: Vec<_> = words.map(|(word, adds)| (word.into(), adds)).collect();
    if words.len() < MAX_CHANGES { words } else { Vec::new() }
}

/// Returns the events of the kind of an event.
fn peers(event: (usize, usize), registry: &Registry) -> impl Iterator<Item = (usize, usize)> {
    let kind = registry.events[event.1].kind;
    let events = registry.events.iter().enumerate().filter(move |(_, other)| other.kind == kind);
    events.map(move |(index, _)| (event.0, index))
}

impl OfSession {
    /// Adds words that are set at a time, or reset.
    fn change(&mut self, ns: i64, mask: Mask, words: &str, sets: bool) {
        // A caller that sorts by time notes changes as they arrive.
        let place = self.changes.partition_point(|change| change.ns <= ns);
        let changes = words.split_ascii_whitespace().map(control::sign);
        let changes = changes.map(|(word, adds)| Change { ns, mask, word: word.into(), is_on: adds == sets });
        self.changes.splice(place..place, changes);
    }
}

impl Mask {
    /// Returns the mask of a name in `ControlChange`.
    fn of(name: &str) -> Option<Mask> {
        match name {
            "Output" => Some(Mask::Output),
            "Record" => Some(Mask::Record),
            _ => None,
        }
    }
}

impl Build {
    /// Returns the build of a variety.
    fn of(variety: Option<&str>) -> Build {
        match variety {
            Some("hot") => Build::Hot,
            Some("rash") => Build::Rash,
            _ => Build::Cool,
        }
    }

    /// Returns true if an event is compiled in.
    fn has(&self, event: &Event) -> bool {
        match self {
            Build::Cool => true,
            Build::Hot => event.always,
            Build::Rash => false,
        }
    }
}
