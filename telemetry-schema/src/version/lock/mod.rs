//! The lock file: the data of a registry as it was released.

mod field;
mod table;
pub(super) mod text;
mod words;

use crate::model::canonical::fnv1a;
use crate::model::registry::{Event, Registry, TypeValue};
use crate::model::sensitive::Sensitive;

pub use field::{Docs, State};
pub use table::{
    Lock, LockEvent, LockKind, LockMessage, LockParam, LockPreset, LockSpan, LockType, LockValue,
};

impl Lock {
    /// The format version of `events.lock` that this crate writes, and the highest that it reads.
    pub const FORMAT: u32 = 1;

    /// Returns the lock file of a registry that is released now. It keeps the removed events of
    /// `previous`.
    #[must_use]
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
            named_by: span.named_by.clone(),
            is_pause: span.is_pause,
            docs: Docs::of(&span.doc),
        });
        let presets = registry
            .presets
            .iter()
            .map(|preset| LockPreset { name: preset.name.clone(), words: preset.words.clone() });
        let messages = registry.messages.iter().map(|message| LockMessage {
            name: message.name.clone(),
            begin: registry.events[message.begin].name.clone(),
            end: message.end.map(|end| registry.events[end].name.clone()),
            key: message.key.clone(),
            limit: message.key.as_ref().map_or(0, |_| message.limit),
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
            presets: presets.collect(),
            messages: messages.collect(),
        }
    }

    /// Returns the event with a code, whatever its state.
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
        // With another role, the same number means something else.
        sort: param.role.map_or_else(|| registry.sort_text(param), |role| role.name().to_string()),
        max: param.max(),
        align: param.align,
        unit: param.unit.clone(),
        is_counter: param.is_counter,
        names: param.names.and_then(|of| event.params.get(of)).map_or(String::new(), |of| of.name.clone()),
        numbers: param.numbers.clone(),
        sensitive: param.sensitive.map_or("", Sensitive::name).to_string(),
        since: param.since,
        docs: Docs::of(&param.doc),
    });
    LockEvent {
        code: event.code,
        name: event.name.clone(),
        kind: registry.kind_of(event).name.clone(),
        always: event.always,
        replay: event.replay_text(),
        range: event.range_text(),
        census: event.census_text(),
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
    /// Returns the hash of a doc: FNV-1a of 64 bits, with its halves folded into one.
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
    /// Returns true if the event is in the registry, used or retired.
    pub fn is_listed(self) -> bool {
        !matches!(self, State::Gone(_))
    }
}
