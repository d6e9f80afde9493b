//! The lock file: the data of a registry as it was released.

pub(super) mod read;
mod write;

use crate::model::canonical::fnv1a;
use crate::model::registry::{Clock, Event, Registry, TypeForm, TypeValue, Version};
use crate::model::sort::Sort;

/// The content of an `events.lock`: a registry as it was released, and the codes of all events that
/// ever existed. Docs are kept as hashes, everything else as in the registry file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// Name of the registry.
    pub registry: String,
    /// The released version.
    pub version: Version,
    /// Hash of its doc.
    pub docs: Docs,
    /// Ordered by bit.
    pub kinds: Vec<LockKind>,
    /// Ordered by name.
    pub types: Vec<LockType>,
    /// Ordered by code, with those that are no longer in the registry.
    pub events: Vec<LockEvent>,
    /// Ordered by name.
    pub spans: Vec<LockSpan>,
    /// Ordered by name.
    pub messages: Vec<LockMessage>,
}

/// A hash of a doc, which reveals changes; 0 for an empty doc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Docs(pub u32);

/// A kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LockKind {
    pub bit: u8,
    pub name: String,
    pub clock: Clock,
    pub docs: Docs,
}

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LockType {
    pub name: String,
    /// The integer that encodes it.
    pub repr: Sort,
    pub form: TypeForm,
    /// Ordered by number.
    pub values: Vec<LockValue>,
    pub docs: Docs,
}

/// A value of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LockValue {
    pub number: i128,
    pub name: String,
    pub docs: Docs,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LockEvent {
    pub code: u16,
    pub name: String,
    /// Name of its kind.
    pub kind: String,
    pub always: bool,
    /// As [`crate::Event::replay_text`] writes it; empty without a mark.
    pub replay: String,
    /// Name of the parameter with the time that it tells of; empty without one.
    pub time: String,
    pub state: State,
    /// In wire order.
    pub params: Vec<LockParam>,
    pub docs: Docs,
}

/// The state of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has an emitter.
    Used,
    /// `used = false`.
    Retired,
    /// No longer in the registry, which had it last in this released version.
    Gone(Version),
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LockParam {
    pub name: String,
    /// As [`Registry::sort_text`] writes it.
    pub sort: String,
    /// As in [`crate::Param::max`].
    pub max: Option<u32>,
    /// As in [`crate::Param::align`].
    pub align: u32,
    /// Empty without one.
    pub unit: String,
    /// Name of the parameter that it names; empty without one.
    pub names: String,
    /// The space of its numbers; empty without such a mark.
    pub numbers: String,
    pub since: Option<Version>,
    pub docs: Docs,
}

/// A span.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LockSpan {
    pub name: String,
    /// Name of the event.
    pub begin: String,
    /// Name of the event.
    pub end: String,
    pub key: Option<String>,
    pub docs: Docs,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LockMessage {
    pub name: String,
    /// Name of the event.
    pub begin: String,
    /// Name of the event; empty for a message without an end.
    pub end: Option<String>,
    pub key: Option<String>,
    /// The most that may run at once; 1 without a key.
    pub limit: u32,
    pub docs: Docs,
}

impl Lock {
    /// The format version of `events.lock` that this crate writes, and the highest that it reads.
    pub const FORMAT: u32 = 1;

    /// The lock file of a registry that is released now. It keeps the removed events of `previous`.
    pub fn of(registry: &Registry, previous: Option<&Lock>) -> Lock {
        let kinds = registry.kinds.iter().map(|kind| LockKind {
            bit: kind.bit,
            name: kind.name.clone(),
            clock: kind.clock,
            docs: Docs::of(&kind.doc),
        });
        let types = registry.types.iter().map(|ty| LockType {
            name: ty.name.clone(),
            repr: ty.repr,
            form: ty.form,
            values: ty.values.iter().map(value).collect(),
            docs: Docs::of(&ty.doc),
        });
        let spans = registry.spans.iter().map(|span| LockSpan {
            name: span.name.clone(),
            begin: registry.events[span.begin].name.clone(),
            end: registry.events[span.end].name.clone(),
            key: span.key.clone(),
            docs: Docs::of(&span.doc),
        });
        let messages = registry.messages.iter().map(|message| LockMessage {
            name: message.name.clone(),
            begin: registry.events[message.begin].name.clone(),
            end: message.end.map(|end| registry.events[end].name.clone()),
            key: message.key.clone(),
            limit: message.limit,
            docs: Docs::of(&message.doc),
        });
        let mut events: Vec<LockEvent> =
            registry.events.iter().map(|event| self::event(registry, event)).collect();
        if let Some(previous) = previous {
            let old = previous.events.iter().filter(|event| registry.event_index(event.code).is_none());
            events.extend(old.map(|event| {
                let state = match event.state {
                    State::Gone(last) => State::Gone(last),
                    State::Used | State::Retired => State::Gone(previous.version),
                };
                LockEvent { state, ..event.clone() }
            }));
            events.sort_by_key(|event| event.code);
        }
        Lock {
            registry: registry.name.clone(),
            version: registry.version,
            docs: Docs::of(&registry.doc),
            kinds: kinds.collect(),
            types: types.collect(),
            events,
            spans: spans.collect(),
            messages: messages.collect(),
        }
    }

    /// The event with a code, whatever its state.
    pub fn event(&self, code: u16) -> Option<&LockEvent> {
        self.events.binary_search_by_key(&code, |event| event.code).ok().map(|index| &self.events[index])
    }
}

fn value(value: &TypeValue) -> LockValue {
    LockValue { number: value.number, name: value.name.clone(), docs: Docs::of(&value.doc) }
}

fn event(registry: &Registry, event: &Event) -> LockEvent {
    let params = event.params.iter().map(|param| LockParam {
        name: param.name.clone(),
        sort: registry.sort_text(param),
        max: param.max(),
        align: param.align,
        unit: param.unit.clone(),
        names: param.names.and_then(|of| event.params.get(of)).map_or(String::new(), |of| of.name.clone()),
        numbers: param.numbers.clone(),
        since: param.since,
        docs: Docs::of(&param.doc),
    });
    LockEvent {
        code: event.code,
        name: event.name.clone(),
        kind: registry.kind_of(event).name.clone(),
        always: event.always,
        replay: event.replay_text(),
        time: event
            .time
            .and_then(|time| event.params.get(time))
            .map_or(String::new(), |time| time.name.clone()),
        state: if event.used { State::Used } else { State::Retired },
        params: params.collect(),
        docs: Docs::of(&event.doc),
    }
}

impl Docs {
    /// The hash of a doc: FNV-1a of 64 bits, with its halves folded into one.
    pub fn of(doc: &str) -> Docs {
        if doc.is_empty() {
            return Docs(0);
        }
        let hash = fnv1a(doc.as_bytes());
        // 0 is the hash of an empty doc.
        Docs(((hash >> 32) as u32 ^ hash as u32).max(1))
    }
}

impl State {
    /// True if the event is in the registry, used or retired.
    pub fn is_listed(self) -> bool {
        !matches!(self, State::Gone(_))
    }
}
