//! Which events of a registry give names: what its marks say, ready for reading.

use telemetry_schema::{Event, NameBy, Named, Naming, Registry};

use crate::event::Raw;
use crate::labels::{Given, Labels, Numbers, Of};
use crate::part::{Walk, walk};
use crate::registries::KnownRegistry;

/// Which events of a registry give names to what.
#[derive(Debug, Clone)]
pub struct Namings {
    of_events: Vec<Vec<Mark>>,
    /// By bit: kinds that have such an event.
    kinds: u64,
}

/// A mark `names` of a parameter of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Which parameters they are, and of which sorts.
    pub naming: Naming,
    /// Which numbers stand for strings, where one is a number: labels, or those of the relation's parameters of that name.
    pub numbers: Numbers,
    /// The relation names pointers and addresses apart.
    apart: bool,
}

/// A value that is a name, or stands for one.
#[derive(Debug, Clone, Copy)]
pub enum Said<'t> {
    /// A number, a pointer, or an address.
    Bits(u64),
    /// A string.
    Text(&'t [u8]),
}

impl Namings {
    /// What the marks of a registry say.
    pub fn new(registry: &Registry) -> Namings {
        let apart = registry.names_apart();
        let marks =
            |event: &Event| event.namings().map(|naming| Mark::new(registry, event, naming, apart)).collect();
        let of_events: Vec<Vec<Mark>> = registry.events.iter().map(marks).collect();
        let marked = registry.events.iter().zip(&of_events).filter(|(_, marks)| !marks.is_empty());
        let kinds = marked.fold(0, |kinds, (event, _)| kinds | 1 << (registry.kind_of(event).bit & 63));
        Namings { of_events, kinds }
    }

    /// The marks of the event of an index.
    #[inline]
    pub fn of_event(&self, index: usize) -> &[Mark] {
        self.of_events.get(index).map_or(&[], |marks| marks)
    }

    /// True if an event of the kind gives names.
    pub(crate) fn has_kind(&self, bit: u8) -> bool {
        1_u64.checked_shl(bit.into()).is_some_and(|bit| self.kinds & bit != 0)
    }
}

impl Mark {
    fn new(registry: &Registry, event: &Event, naming: Naming, apart: bool) -> Mark {
        let number = match (naming.named, naming.name) {
            (Named::Number, _) => event.params.get(naming.of),
            (_, NameBy::Number) => event.params.get(naming.by),
            _ => None,
        };
        let numbers = number.map_or(Numbers::LABELS, |param| Numbers::of(&registry.name, &param.name));
        Mark { naming, numbers, apart }
    }

    /// Notes what an event says by it: the bits of what is named, and what says the name. What has no room is not noted.
    pub fn note(&self, ticks: u64, of: u64, by: Said<'_>, labels: &mut Labels, room: &mut usize) {
        let named = match self.naming.named {
            Named::Label | Named::Number => {
                if let Said::Text(text) = by {
                    labels.define(self.numbers, of, text, room);
                }
                return;
            }
            Named::Pointer if self.apart => Of::Pointer,
            Named::Addr if self.apart => Of::Addr,
            Named::Pointer | Named::Addr => Of::Either,
        };
        let given = match (by, self.naming.name) {
            (Said::Text(text), _) => return labels.give_text(named, of, ticks, text, room),
            (Said::Bits(number), NameBy::Label | NameBy::Number) => Given::Number(self.numbers, number),
            (Said::Bits(pointer), NameBy::Pointer) => Given::Like(Of::Pointer, pointer),
            (Said::Bits(address), NameBy::Addr) => Given::Like(Of::Addr, address),
            (Said::Bits(_), NameBy::Text) => return,
        };
        labels.give(named, of, ticks, given, room);
    }
}

/// A lane with names while it is read, apart from the events that are given out: names are wanted also where
/// a filter does not want their events.
#[derive(Default)]
pub(crate) struct NameLane {
    seq: u32,
    /// Where the next part of the block begins.
    offset: u32,
    walk: Walk,
}

impl NameLane {
    /// Takes the names of a part.
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
            for mark in registry.namings.of_event(index as usize) {
                let Naming { of, by, name, .. } = mark.naming;
                let (Some(of), Some(by)) = (raw.get(of), raw.get(by)) else { continue };
                let said = match name {
                    NameBy::Text => Said::Text(Raw::run(by, payload)),
                    _ => Said::Bits(by.bits),
                };
                mark.note(ticks, of.bits, said, labels, room);
            }
        });
    }
}
