//! Labels: numbers that stand for strings, and names of addresses. The runtime reports both as events of its
//! own registry.

use std::collections::{BTreeMap, HashMap};

use telemetry_schema::{Count, Event, Registry, Sort};

use crate::event::Raw;
use crate::part::{Walk, walk};
use crate::registries::KnownRegistry;

/// The name of the runtime's own registry.
pub const RUNTIME_REGISTRY: &str = "telemetry";

/// The kind of its events that are labels.
const KIND: &str = "Label";

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
}

/// What an event says of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelEvent {
    /// The first parameter is a number, the second the string that it stands for.
    String,
    /// The first parameter is an address, the second the number of its name from then on.
    Name,
}

impl LabelEvent {
    /// What an event of a registry says of labels, if it does: one of the kind `Label` of the registry
    /// `telemetry`, by the sorts of its first two parameters.
    pub fn of(registry: &Registry, event: &Event) -> Option<LabelEvent> {
        if registry.name != RUNTIME_REGISTRY || registry.kind_of(event).name != KIND {
            return None;
        }
        let [first, second, ..] = &event.params[..] else { return None };
        match (first.count, second.count, first.sort, second.sort) {
            (Count::One, Count::One, Sort::Label, Sort::String) => Some(LabelEvent::String),
            (Count::One, Count::One, Sort::Addr | Sort::Pointer, Sort::Label) => Some(LabelEvent::Name),
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

    /// Number of strings.
    pub fn strings(&self) -> usize {
        self.strings.len()
    }

    /// Number of names that were given to addresses.
    pub fn names(&self) -> usize {
        self.names.len()
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
        if self.names.get(&(address, ticks)) != Some(&number) && take(room, ENTRY) {
            self.names.insert((address, ticks), number);
        }
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
        walk(registry, header.kind, payload, header.events, &mut self.walk, |index, ticks, raw, _| {
            let Some(event) = registry.events.get(index as usize) else { return };
            let [first, second, ..] = raw else { return };
            match LabelEvent::of(registry, event) {
                Some(LabelEvent::String) => labels.define(first.bits, Raw::run(second, payload), room),
                Some(LabelEvent::Name) => labels.name(first.bits, ticks, second.bits, room),
                None => {}
            }
        });
    }
}

/// True if the events of a kind are labels.
pub(crate) fn are_labels(registry: &Registry, kind: u8) -> bool {
    registry.name == RUNTIME_REGISTRY
        && registry.kinds.iter().any(|known| known.bit == kind && known.name == KIND)
}
