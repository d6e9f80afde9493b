//! What of the registries occurs in the streams, and what never does.

use std::collections::BTreeMap;

use telemetry_decode::names::RUNTIME_REGISTRY;
use telemetry_decode::{Event, EventBatch, KnownRegistry, Value};
use telemetry_schema::{Registry, Sort, TypeForm, TypeValue, control};

use crate::figures::keyed::PerEvent;

/// The most words of control that are remembered. More only leave changes of switches unknown.
const MAX_WORDS: usize = 10_000;

/// The events and the values that occur, and the switches that were changed meanwhile.
#[derive(Default)]
pub struct Usage {
    events: PerEvent<OfEvent>,
    /// The last change of the output by each word, by session and word.
    words: BTreeMap<(u64, String), Change>,
}

/// A change of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    /// Nanoseconds since the start of the session, and the place of the word in the change.
    at: (i64, usize),
    is_on: bool,
}

/// The values that an event had so far.
#[derive(Default)]
struct OfEvent {
    params: Vec<OfParam>,
}

/// The values of a parameter whose type has names.
struct OfParam {
    index: usize,
    ty: usize,
    /// By the index of the value in its type.
    seen: Vec<bool>,
}

/// What never occurs, of all versions of a registry.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unused {
    /// In the order of registries and codes.
    pub events: Vec<UnusedEvent>,
    /// In the order of registries, types and numbers.
    pub values: Vec<UnusedValue>,
}

/// An event that never occurs.
#[derive(Debug, PartialEq, Eq)]
pub struct UnusedEvent {
    pub registry: String,
    pub event: String,
    pub code: u16,
    pub kind: String,
    /// True if it has no emitter any more.
    pub is_retired: bool,
    /// The last change of its output in each session that changed it.
    pub switches: Vec<Switched>,
}

/// The last change of a switch in a session.
#[derive(Debug, PartialEq, Eq)]
pub struct Switched {
    pub session: u64,
    pub is_on: bool,
    /// Nanoseconds since the start of the session.
    pub since_ns: i64,
}

/// A value of an enum, or a flag, that no event has.
#[derive(Debug, PartialEq, Eq)]
pub struct UnusedValue {
    pub registry: String,
    pub ty: String,
    pub value: String,
    pub number: i128,
    pub is_flag: bool,
}

impl Usage {
    /// Notes some events.
    pub fn add_batch(&mut self, batch: &EventBatch<'_>) {
        let known = batch.known_registry();
        if known.registry.name == RUNTIME_REGISTRY {
            let changes = batch.iter().filter(|event| event.name() == "ControlChange");
            return changes.for_each(|event| self.add_change(&event));
        }
        let of_registry = self.events.of_registry(known);
        for row in batch.rows() {
            let index = row.index as usize;
            let of_event = of_registry[index].get_or_insert_with(|| OfEvent::new(&known.registry, index));
            for param in of_event.params.iter_mut().filter(|param| param.seen.contains(&false)) {
                if let Some(value) = batch.event(&row).value(param.index) {
                    param.add(&known.registry, &value);
                }
            }
        }
    }

    fn add_change(&mut self, event: &Event<'_>) {
        let named = |name| match event.get(name) {
            Some(Value::Named(value)) => value.name(),
            _ => None,
        };
        let (Some("Output"), Some(action)) = (named("mask"), named("action")) else { return };
        let Some(Value::String(words)) = event.get("words") else { return };
        let words = String::from_utf8_lossy(words.0);
        for (place, word) in words.split_ascii_whitespace().enumerate() {
            let (word, adds) = control::sign(word);
            let change = Change { at: (event.time_ns(), place), is_on: adds == (action == "Set") };
            self.note((event.session().id, word.to_ascii_lowercase()), change);
        }
    }

    fn note(&mut self, key: (u64, String), change: Change) {
        if self.words.len() < MAX_WORDS || self.words.contains_key(&key) {
            let last = self.words.entry(key).or_insert(change);
            *last = change.max(*last);
        }
    }

    /// Adds what another part of the streams has.
    pub fn merge(&mut self, other: Usage) {
        self.events.merge(other.events, |known, other| known.merge(&other));
        other.words.into_iter().for_each(|(key, change)| self.note(key, change));
    }

    /// Returns what never occurs. Versions of a registry count as one: what occurs in a stream of
    /// any version is used, and the newest version says what there is.
    pub fn unused(&mut self, registries: &[KnownRegistry]) -> Unused {
        let mut unused = Unused::default();
        let mut newest: BTreeMap<&str, &KnownRegistry> = BTreeMap::new();
        for known in registries.iter().filter(|known| known.registry.name != RUNTIME_REGISTRY) {
            let newer = newest.entry(&known.registry.name).or_insert(known);
            if newer.registry.version < known.registry.version {
                *newer = known;
            }
        }
        for known in newest.into_values() {
            let registry = &known.registry;
            let versions = registries.iter().filter(|other| other.registry.name == registry.name);
            let (mut events, mut values) =
                (registry.events.iter().map(|_| false).collect::<Vec<_>>(), seen(registry));
            for version in versions {
                self.mark(version, registry, &mut events, &mut values);
            }
            let never = registry.events.iter().zip(&events).filter(|(_, used)| !**used);
            unused.events.extend(never.map(|(event, _)| UnusedEvent {
                registry: registry.name.clone(),
                event: event.name.clone(),
                code: event.code,
                kind: registry.kind_of(event).name.clone(),
                is_retired: !event.used,
                switches: self.switches(registry, event),
            }));
            for (ty, seen) in registry.types.iter().zip(&values) {
                let never = ty.values.iter().zip(seen).filter(|(_, seen)| !**seen);
                unused.values.extend(never.map(|(value, _)| UnusedValue {
                    registry: registry.name.clone(),
                    ty: ty.name.clone(),
                    value: value.name.clone(),
                    number: value.number,
                    is_flag: ty.form == TypeForm::Flags,
                }));
            }
        }
        unused
    }

    /// Marks the events and values of `newest` that occur in the streams of a version.
    fn mark(
        &mut self,
        version: &KnownRegistry,
        newest: &Registry,
        events: &mut [bool],
        values: &mut [Vec<bool>],
    ) {
        let of_version = self.events.of_fingerprint(version.fingerprint);
        for (event, of_event) in version.registry.events.iter().zip(of_version) {
            let Some(of_event) = of_event else { continue };
            if let Some(index) = newest.event_index(event.code) {
                events[index] = true;
            }
            for param in &of_event.params {
                let ty = &version.registry.types[param.ty];
                let Some(at) = newest.types.iter().position(|newer| newer.name == ty.name) else { continue };
                let names = |value: &TypeValue| {
                    let mut seen = ty.values.iter().zip(&param.seen).filter(|(_, seen)| **seen);
                    seen.any(|(old, _)| old.name == value.name)
                };
                newest.types[at]
                    .values
                    .iter()
                    .zip(&mut values[at])
                    .for_each(|(value, seen)| *seen |= names(value));
            }
        }
    }

    fn switches(&self, registry: &Registry, event: &telemetry_schema::Event) -> Vec<Switched> {
        let mut last: BTreeMap<u64, Change> = BTreeMap::new();
        for ((session, word), change) in &self.words {
            if registry.is_named(word, event) {
                let known = last.entry(*session).or_insert(*change);
                *known = change.max(known).to_owned();
            }
        }
        let switched = |(session, change): (u64, Change)| Switched {
            session,
            is_on: change.is_on,
            since_ns: change.at.0,
        };
        last.into_iter().map(switched).collect()
    }
}

/// Returns for each value of each type of a registry that it was not seen.
fn seen(registry: &Registry) -> Vec<Vec<bool>> {
    registry.types.iter().map(|ty| vec![false; ty.values.len()]).collect()
}

impl OfEvent {
    fn new(registry: &Registry, index: usize) -> OfEvent {
        let params = registry.events[index].params.iter().enumerate();
        let params = params.filter_map(|(index, param)| match param.sort {
            Sort::Named(ty) => {
                Some(OfParam { index, ty, seen: vec![false; registry.types[ty].values.len()] })
            }
            Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 | Sort::Word | Sort::Pointer | Sort::Addr => None,
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::F32 | Sort::F64 | Sort::Bool => None,
            Sort::Label | Sort::String | Sort::Bytes => None,
        });
        OfEvent { params: params.collect() }
    }

    fn merge(&mut self, other: &OfEvent) {
        for (known, other) in self.params.iter_mut().zip(&other.params) {
            known.seen.iter_mut().zip(&other.seen).for_each(|(known, other)| *known |= *other);
        }
    }
}

impl OfParam {
    fn add(&mut self, registry: &Registry, value: &Value<'_>) {
        if let Value::Array(array) = value {
            return array.iter().for_each(|element| self.add(registry, &element));
        }
        let Some(number) = value.as_i128() else { return };
        let ty = &registry.types[self.ty];
        for (of, seen) in ty.values.iter().zip(&mut self.seen) {
            *seen |= match ty.form {
                TypeForm::Enum => of.number == number,
                TypeForm::Flags => number & of.number == of.number,
            };
        }
    }
}
