//! Code that a compiler at run time made, from the events that say so: those with the mark
//! `range = { begin = "code", ... }`.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use telemetry_decode::{Event, KnownRegistry, Value};
use telemetry_schema::{RangeAction, RangeRole, Sort};

/// What such ranges are called in a registry.
const CODE: &str = "code";

/// The most ranges of a session. Further code has no names.
const MAX_RANGES: usize = 2_000_000;

/// The code of a session at the time of the last event that was taken. Ranges do not overlap: what
/// begins where others are has replaced them.
#[derive(Default)]
pub(super) struct Code {
    /// By the first address.
    ranges: BTreeMap<u64, Range>,
    /// The first address by the key, of ranges that have one.
    keys: HashMap<u64, u64>,
}

struct Range {
    /// The last address, as the range may reach the end of all addresses.
    last: u64,
    key: Option<u64>,
    name: Arc<str>,
}

/// Returns the names of the events about code, with those of their registries.
pub(super) fn events(registries: &[KnownRegistry]) -> Vec<String> {
    let mut names = Vec::new();
    for known in registries {
        let events = known.registry.events.iter().filter(|event| is_about_code(event));
        names.extend(events.map(|event| format!("{}:{}", known.registry.name, event.name)));
    }
    names
}

/// Returns whether events of a type are about code.
#[inline]
pub(super) fn is_about_code(event: &telemetry_schema::Event) -> bool {
    event.range.as_ref().is_some_and(|range| range.what == CODE)
}

impl Code {
    /// Takes an event about code.
    pub(super) fn take(&mut self, event: &Event<'_>) {
        let Some(range) = &event.schema().range else { return };
        let number = |wanted: RangeRole| {
            let (_, param) = range.roles.iter().find(|(role, _)| *role == wanted)?;
            event.value(*param)?.as_i128().map(|number| number as u64)
        };
        let base = number(RangeRole::Base);
        // Code without a size has no addresses.
        let last = |base: u64| match (number(RangeRole::Size), number(RangeRole::Limit)) {
            (Some(size), _) => base.checked_add(size.checked_sub(1)?),
            (None, Some(limit)) => limit.checked_sub(1).filter(|last| *last >= base),
            (None, None) => None,
        };
        match range.action {
            RangeAction::Begin => {
                let Some((base, last)) = base.and_then(|base| Some((base, last(base)?))) else { return };
                self.begin(base, Range { last, key: number(RangeRole::Key), name: name(event).into() });
            }
            RangeAction::End => match (number(RangeRole::Key), base) {
                (Some(key), _) => _ = self.keys.remove(&key).and_then(|base| self.ranges.remove(&base)),
                (None, Some(base)) => match last(base) {
                    Some(last) => self.clear(base, last),
                    None => self.remove(base),
                },
                (None, None) => {}
            },
            RangeAction::Move => self.move_all(event, base, number(RangeRole::From)),
        }
    }

    /// Returns the name of the code at an address.
    pub(super) fn name(&self, address: u64) -> Option<Arc<str>> {
        let (_, range) = self.ranges.range(..=address).next_back()?;
        (address <= range.last && !range.name.is_empty()).then(|| range.name.clone())
    }

    fn begin(&mut self, base: u64, range: Range) {
        self.clear(base, range.last);
        if self.ranges.len() >= MAX_RANGES {
            return;
        }
        if let Some(key) = range.key {
            self.keys.insert(key, base);
        }
        self.ranges.insert(base, range);
    }

    /// Removes all ranges with an address from `base` to `last`.
    fn clear(&mut self, base: u64, last: u64) {
        while let Some((&first, _)) =
            self.ranges.range(..=last).next_back().filter(|(_, range)| range.last >= base)
        {
            self.remove(first);
        }
    }

    fn remove(&mut self, base: u64) {
        let Some(range) = self.ranges.remove(&base) else { return };
        // The key may be that of later code.
        if let Some(key) = range.key
            && self.keys.get(&key) == Some(&base)
        {
            self.keys.remove(&key);
        }
    }

    /// Moves a range, or several at once.
    fn move_all(&mut self, event: &Event<'_>, base: Option<u64>, from: Option<u64>) {
        let mut moves: Vec<(u64, u64)> = from.zip(base).into_iter().collect();
        let roles = event.schema().range.iter().flat_map(|range| &range.roles);
        for (_, param) in roles.filter(|(role, _)| *role == RangeRole::Moves) {
            let Some(Value::Array(places)) = event.value(*param) else { continue };
            let places: Vec<u64> = places.iter().filter_map(|place| Some(place.as_i128()? as u64)).collect();
            moves.extend(places.chunks_exact(2).map(|pair| (pair[0], pair[1])));
        }
        let taken: Vec<_> =
            moves.iter().filter_map(|(from, to)| Some((*from, *to, self.ranges.remove(from)?))).collect();
        for (from, to, range) in taken {
            if let Some(last) = to.checked_add(range.last - from) {
                self.begin(to, Range { last, ..range });
            }
        }
    }
}

/// Returns the name of code: the first text of the event.
fn name(event: &Event<'_>) -> String {
    let is_text = |sort: Sort| matches!(sort, Sort::String | Sort::Label);
    let Some(param) = event.schema().params.iter().position(|param| is_text(param.sort)) else {
        return String::new();
    };
    match event.value(param) {
        Some(Value::String(text)) => String::from_utf8_lossy(text.0).into_owned(),
        Some(Value::Label(label)) => event.label(label).unwrap_or_default().to_string(),
        _ => String::new(),
    }
}
