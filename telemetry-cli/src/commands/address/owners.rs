//! What things belong to.

use std::collections::HashMap;

use telemetry_decode::{AddressName, Event, Value};

use super::step::number;

/// The most things whose owner is kept.
pub(super) const MOST: usize = 65_536;

/// The most owners that one range is shown with: a segment, its pool, its arena.
const MOST_IN_CHAIN: usize = 8;

/// A thing that ranges belong to.
#[derive(Clone)]
pub(super) struct Owner {
    /// The parameter that has it.
    pub(super) param: String,
    pub(super) value: u64,
    /// False for a number, which is shown in decimal.
    pub(super) is_place: bool,
    pub(super) name: Option<String>,
}

/// What a thing is, and its owner.
struct Thing {
    what: String,
    owner: Owner,
}

/// The owner of each thing, by session and key.
#[derive(Default)]
pub(super) struct Owners {
    known: HashMap<(u64, u64), Thing>,
    pub(super) dropped: u64,
}

impl Owner {
    /// Returns what a parameter of an event has.
    pub(super) fn of(event: &Event<'_>, param: usize) -> Option<Owner> {
        let value = event.value(param)?;
        Some(Owner {
            param: event.schema().params[param].name.clone(),
            value: number(&value)?,
            is_place: matches!(value, Value::Pointer(_) | Value::Addr(_)),
            name: name(event, &value),
        })
    }
}

impl Owners {
    /// Notes the owner of a thing.
    pub(super) fn add(&mut self, session: u64, key: u64, what: &str, owner: Owner) {
        if self.known.len() < MOST || self.known.contains_key(&(session, key)) {
            self.known.insert((session, key), Thing { what: what.to_string(), owner });
        } else {
            self.dropped += 1;
        }
    }

    /// Forgets a thing. What has the same key stays if it is something else.
    pub(super) fn remove(&mut self, session: u64, key: u64, what: &str) {
        if self.known.get(&(session, key)).is_some_and(|thing| thing.what == what) {
            self.known.remove(&(session, key));
        }
    }

    /// Returns the owner of a range, and its owners in turn. Without one, that of its key counts.
    pub(super) fn chain(&self, session: u64, key: Option<u64>, owner: Option<Owner>) -> Vec<Owner> {
        let known = |key: u64| self.known.get(&(session, key)).map(|thing| thing.owner.clone());
        let mut next = owner.or_else(|| known(key?));
        let mut chain: Vec<Owner> = Vec::new();
        while let Some(owner) = next.take().filter(|_| chain.len() < MOST_IN_CHAIN) {
            // Two things may own each other, by mistake.
            let is_new = |value: u64| chain.iter().all(|other| other.value != value);
            next = known(owner.value).filter(|next| next.value != owner.value && is_new(next.value));
            chain.push(owner);
        }
        chain
    }
}

/// Returns the name of a value: of a pointer, an address, or a label.
pub(super) fn name(event: &Event<'_>, value: &Value<'_>) -> Option<String> {
    if let Value::Label(label) = value {
        return event.label(*label).map(str::to_string);
    }
    event.name_of_value(value).and_then(AddressName::text).map(str::to_string)
}
