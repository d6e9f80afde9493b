//! Labels: numbers that stand for strings, and names of addresses. The runtime reports both as events of its
//! own registry; the MPS's are known, too.

use std::collections::{BTreeMap, HashMap};

use telemetry_schema::{Count, Event, Registry, Sort};

use crate::event::Raw;
use crate::part::{Walk, walk};
use crate::registries::KnownRegistry;
use crate::value::Value;

/// The name of the runtime's own registry.
pub const RUNTIME_REGISTRY: &str = "telemetry";

/// The kind of its events that are labels.
const KIND: &str = "Label";

/// The registry of the Memory Pool System's events, and the kind of those that are labels.
const MPS: (&str, &str) = ("mps", "User");

/// Bytes for the labels of a stream. What is beyond them is not kept: numbers stay numbers.
pub(crate) const ROOM: usize = 32 << 20;

/// Bytes of an entry beside its text, about.
const ENTRY: usize = 64;

/// The labels of a session that are known.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    /// By number.
    strings: HashMap<u64, Box<str>>,
    /// By address and clock reading: the number.
    names: BTreeMap<(u64, u64), u64>,
    /// The same of pointers, where they are not among the addresses.
    pointers: Option<BTreeMap<(u64, u64), u64>>,
}

/// What an event says of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelEvent {
    /// The first parameter is a number, the second the string that it stands for.
    String,
    /// The first parameter is an address, the second the number of its name from then on.
    Name,
    /// The same of a pointer, where pointers have names apart from addresses.
    PointerName,
}

impl LabelEvent {
    /// What an event of a registry says of labels, if it does: one of the kind `Label` of the registry
    /// `telemetry`, or of the kind `User` of `mps`, by the sorts of its first two parameters.
    pub fn of(registry: &Registry, event: &Event) -> Option<LabelEvent> {
        if !are_labels(registry, registry.kind_of(event).bit) {
            return None;
        }
        let [first, second, ..] = &event.params[..] else { return None };
        if (first.count, second.count) != (Count::One, Count::One) {
            return None;
        }
        match (registry.name == RUNTIME_REGISTRY, first.sort, second.sort) {
            (true, Sort::Label, Sort::String) => Some(LabelEvent::String),
            (true, Sort::Addr | Sort::Pointer, Sort::Label) => Some(LabelEvent::Name),
            (false, Sort::Word, Sort::String) => Some(LabelEvent::String),
            (false, Sort::Addr, Sort::Word) => Some(LabelEvent::Name),
            (false, Sort::Pointer, Sort::Word) => Some(LabelEvent::PointerName),
            _ => None,
        }
    }
}

impl Labels {
    /// The string that a number stands for.
    pub fn string(&self, number: u64) -> Option<&str> {
        self.strings.get(&number).map(|text| &**text)
    }

    /// The number of an address's name at a clock reading: the latest that it was given until then.
    pub fn name_of(&self, address: u64, ticks: u64) -> Option<u64> {
        let (&(named, _), &number) = self.names.range(..=(address, ticks)).next_back()?;
        (named == address).then_some(number)
    }

    /// The same of a pointer: of an address, unless the session keeps them apart.
    pub fn name_of_pointer(&self, pointer: u64, ticks: u64) -> Option<u64> {
        let Some(pointers) = &self.pointers else { return self.name_of(pointer, ticks) };
        let (&(named, _), &number) = pointers.range(..=(pointer, ticks)).next_back()?;
        (named == pointer).then_some(number)
    }

    /// The number of the name of a value at a clock reading, if it is an address or a pointer and has one.
    #[inline]
    pub fn name_of_value(&self, value: &Value<'_>, ticks: u64) -> Option<u64> {
        match *value {
            Value::Addr(address) => self.name_of(address, ticks),
            Value::Pointer(pointer) => self.name_of_pointer(pointer, ticks),
            _ => None,
        }
    }

    /// Pointers have names apart from addresses from now on, as in the MPS: the same number can be both.
    pub fn keep_pointers_apart(&mut self) {
        self.pointers.get_or_insert_default();
    }

    /// Number of strings.
    pub fn strings(&self) -> usize {
        self.strings.len()
    }

    /// Number of names that were given to addresses and pointers.
    pub fn names(&self) -> usize {
        self.names.len() + self.pointers.as_ref().map_or(0, BTreeMap::len)
    }

    /// Notes the string of a number; the latest counts. It takes so many bytes of `room`, or, if they are not
    /// there, nothing is noted.
    pub fn define(&mut self, number: u64, text: &[u8], room: &mut usize) {
        let text = String::from_utf8_lossy(text).into_owned().into_boxed_str();
        let is_known = self.string(number).is_some_and(|known| *known == *text);
        if !is_known && take(room, ENTRY + text.len()) {
            self.strings.insert(number, text);
        }
    }

    /// Notes the name of an address from a clock reading on, as [`Labels::define`] does.
    pub fn name(&mut self, address: u64, ticks: u64, number: u64, room: &mut usize) {
        name(&mut self.names, (address, ticks), number, room);
    }

    /// The same of a pointer. Pointers are then kept apart from addresses.
    pub fn name_pointer(&mut self, pointer: u64, ticks: u64, number: u64, room: &mut usize) {
        name(self.pointers.get_or_insert_default(), (pointer, ticks), number, room);
    }
}

fn name(names: &mut BTreeMap<(u64, u64), u64>, of: (u64, u64), number: u64, room: &mut usize) {
    if names.get(&of) != Some(&number) && take(room, ENTRY) {
        names.insert(of, number);
    }
}

fn take(room: &mut usize, bytes: usize) -> bool {
    let left = room.checked_sub(bytes);
    *room = left.unwrap_or(*room);
    left.is_some()
}

/// A lane of labels while it is read, apart from the events that are given out: labels are wanted also where
/// a filter does not want their events.
#[derive(Default)]
pub(crate) struct LabelLane {
    seq: u32,
    /// Where the next part of the block begins.
    offset: u32,
    walk: Walk,
}

impl LabelLane {
    /// Takes the labels of a part.
    pub(crate) fn read(
        &mut self,
        registry: &KnownRegistry,
        header: &telemetry_format::Header,
        payload: &[u8],
        labels: &mut Labels,
        room: &mut usize,
    ) {
        if header.offset == 0 {
            self.walk = Walk::from(header);
        } else if (self.seq, self.offset) != (header.seq, header.offset) {
            return;
        }
        (self.seq, self.offset) = (header.seq, header.offset.saturating_add(header.payload_len));
        if registry.name != RUNTIME_REGISTRY {
            labels.keep_pointers_apart();
        }
        walk(registry, header.kind, payload, header.events, &mut self.walk, |index, ticks, raw, _| {
            let Some(event) = registry.events.get(index as usize) else { return };
            let [first, second, ..] = raw else { return };
            match LabelEvent::of(registry, event) {
                Some(LabelEvent::String) => labels.define(first.bits, Raw::run(second, payload), room),
                Some(LabelEvent::Name) => labels.name(first.bits, ticks, second.bits, room),
                Some(LabelEvent::PointerName) => labels.name_pointer(first.bits, ticks, second.bits, room),
                None => {}
            }
        });
    }
}

/// True if the events of a kind are labels.
pub(crate) fn are_labels(registry: &Registry, kind: u8) -> bool {
    [(RUNTIME_REGISTRY, KIND), MPS].iter().any(|(name, labels)| {
        registry.name == *name
            && registry.kinds.iter().any(|known| known.bit == kind && known.name == *labels)
    })
}
