//! Which events of a registry give names: what its marks say, ready for reading.

use telemetry_schema::{Event, NameBy, Named, Naming, Param, Registry};

use crate::sessions::labels::{Given, Labels, Numbers, Of};

/// Which events of a registry give names to what.
#[derive(Debug, Clone)]
pub struct Namings {
    of_events: Vec<Vec<Mark>>,
    /// By event, and then by parameter: the numbers that it has, if they are shown with strings. Empty for an event
    /// without such parameters.
    numbers: Vec<Vec<Option<Numbers>>>,
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

    /// The numbers that parameters of the event of an index have; none of an event without such parameters.
    #[inline]
    pub fn numbers_of_event(&self, index: usize) -> &[Option<Numbers>] {
        self.numbers.get(index).map_or(&[], |numbers| numbers)
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
        let numbers =
            number.map_or(Numbers::LABELS, |param| Numbers::of(&registry.name, param.number_space()));
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
