//! Events that give names to values: the marks of a registry, prepared for reading.

use telemetry_schema::{Event, NameBy, Named, Naming, Param, Registry};

use crate::sessions::labels::{Given, Labels, NamedAt, Numbers, Of};

/// The events of a registry that give names to values.
#[derive(Debug, Clone)]
pub struct Namings {
    of_events: Vec<Vec<Mark>>,
    /// By event and parameter: the number space of the parameter, if its numbers are shown with
    /// strings. Empty for an event without such parameters.
    numbers: Vec<Vec<Option<Numbers>>>,
    /// The bits of kinds with such an event.
    kinds: u64,
}

/// A mark `names` of a parameter of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The parameters of the mark, and their types.
    pub naming: Naming,
    /// The number space of the named value or of its name, if one is a number: labels, or the
    /// registry's parameters of that name.
    pub numbers: Numbers,
    /// The registry names pointers separately from addresses.
    apart: bool,
}

/// The value of a parameter that names another.
#[derive(Debug, Clone, Copy)]
pub enum NameValue<'t> {
    /// A number, a pointer, or an address.
    Bits(u64),
    /// A string.
    Text(&'t [u8]),
}

impl Namings {
    /// Prepares the marks of a registry.
    pub fn new(registry: &Registry) -> Namings {
        Namings::shown(registry, registry.names_apart())
    }

    /// Prepares the marks of a registry of which something may be hidden. `apart` says whether all
    /// of it names pointers separately from addresses.
    pub(crate) fn shown(registry: &Registry, apart: bool) -> Namings {
        let marks =
            |event: &Event| event.namings().map(|naming| Mark::new(registry, event, naming, apart)).collect();
        let of_events: Vec<Vec<Mark>> = registry.events.iter().map(marks).collect();
        let marked = registry.events.iter().zip(&of_events).filter(|(_, marks)| !marks.is_empty());
        let kinds = marked.fold(0, |kinds, (event, _)| kinds | 1 << (registry.kind_of(event).bit & 63));
        let numbers = |event: &Event| -> Vec<Option<Numbers>> {
            let of = |param: &Param| {
                let is_shown = !param.numbers.is_empty() && param.has_numbers();
                is_shown.then(|| Numbers::of(&registry.name, param.number_space()))
            };
            let all: Vec<_> = event.params.iter().map(of).collect();
            if all.iter().all(Option::is_none) { Vec::new() } else { all }
        };
        let numbers = registry.events.iter().map(numbers).collect();
        Namings { of_events, numbers, kinds }
    }

    /// Returns the number spaces of an event's parameters; empty if it has none.
    #[inline]
    pub fn numbers_of_event(&self, index: usize) -> &[Option<Numbers>] {
        self.numbers.get(index).map_or(&[], |numbers| numbers)
    }

    /// Returns the marks of an event.
    #[inline]
    pub fn of_event(&self, index: usize) -> &[Mark] {
        self.of_events.get(index).map_or(&[], |marks| marks)
    }

    /// Returns true if an event of the kind gives names.
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
        let numbers =
            number.map_or(Numbers::LABELS, |param| Numbers::of(&registry.name, param.number_space()));
        Mark { naming, numbers, apart }
    }

    /// Stores the name that an event gives. `of` has the bits of the named value, and `by` has the
    /// name. A name that exceeds `room` is not stored.
    pub fn note(&self, at: NamedAt, of: u64, by: NameValue<'_>, labels: &mut Labels, room: &mut usize) {
        let named = match self.naming.named {
            Named::Label | Named::Number => {
                if let NameValue::Text(text) = by {
                    labels.define(self.numbers, of, text, room);
                }
                return;
            }
            Named::Pointer if self.apart => Of::Pointer,
            Named::Addr if self.apart => Of::Addr,
            Named::Pointer | Named::Addr => Of::Either,
        };
        let given = match (by, self.naming.name) {
            (NameValue::Text(text), _) => return labels.give_text(named, of, at, text, room),
            (NameValue::Bits(number), NameBy::Label | NameBy::Number) => Given::Number(self.numbers, number),
            (NameValue::Bits(pointer), NameBy::Pointer) => Given::Like(Of::Pointer, pointer),
            (NameValue::Bits(address), NameBy::Addr) => Given::Like(Of::Addr, address),
            (NameValue::Bits(_), NameBy::Text) => return,
        };
        labels.give(named, of, at, given, room);
    }
}
