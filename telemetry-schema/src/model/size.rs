//! Sizes of events on the wire, and look-ups in a registry.

use std::ops::RangeInclusive;

use telemetry_format::{Encoding, put};

use crate::model::registry::{Count, Event, Kind, Param, Registry, Type, TypeValue, Version};
use crate::model::sort::Sort;

impl Registry {
    /// Returns the event with a code.
    pub fn event(&self, code: u16) -> Option<&Event> {
        self.event_index(code).map(|index| &self.events[index])
    }

    /// Returns the index of the event with a code.
    pub fn event_index(&self, code: u16) -> Option<usize> {
        self.events.binary_search_by_key(&code, |event| event.code).ok()
    }

    /// Returns the event with a name.
    pub fn event_named(&self, name: &str) -> Option<&Event> {
        self.events.iter().find(|event| event.name == name)
    }

    /// Returns the kind of an event of this registry.
    pub fn kind_of(&self, event: &Event) -> &Kind {
        &self.kinds[event.kind]
    }

    /// Returns the enum or flags of a [`Sort::Named`] of this registry; `None` for other types.
    pub fn ty(&self, sort: Sort) -> Option<&Type> {
        if let Sort::Named(index) = sort { self.types.get(index) } else { None }
    }

    /// Returns the encoding of a value of a parameter type: that of the repr of an enum or flags.
    pub fn encoding(&self, sort: Sort) -> Encoding {
        self.repr(sort).encoding().unwrap_or(Encoding::Unsigned64)
    }

    /// Returns the parameter type that carries a value: the repr of an enum or flags, any other
    /// type itself.
    pub fn repr(&self, sort: Sort) -> Sort {
        self.ty(sort).map_or(sort, |ty| ty.repr)
    }

    /// Returns the long name of a built-in type, or the name of an enum or flags.
    pub fn sort_name(&self, sort: Sort) -> &str {
        sort.name().or_else(|| self.ty(sort).map(|ty| ty.name.as_str())).unwrap_or("?")
    }

    /// Returns the type of a parameter as in a registry file: `word`, `[u32; 4]`, `[TraceWhy]`.
    pub fn sort_text(&self, param: &Param) -> String {
        let name = self.sort_name(param.sort);
        match param.count {
            Count::One => name.to_string(),
            Count::Fixed(count) => format!("[{name}; {count}]"),
            Count::UpTo(_) => format!("[{name}]"),
        }
    }
}

impl Event {
    /// Returns the fewest bytes of the event's parameters on the wire.
    pub fn min_len(&self, registry: &Registry) -> usize {
        self.params.iter().map(|param| *param.wire_len(registry).start()).sum()
    }

    /// Returns the most bytes of the event's parameters on the wire; at most
    /// [`crate::limits::MAX_EVENT_LEN`].
    pub fn max_len(&self, registry: &Registry) -> usize {
        self.params.iter().map(|param| *param.wire_len(registry).end()).sum()
    }
}

impl Param {
    /// Returns the fewest and most bytes of the parameter on the wire: all elements, with their
    /// count if it varies.
    pub fn wire_len(&self, registry: &Registry) -> RangeInclusive<usize> {
        let (min, max) = self.value_len(registry).into_inner();
        match self.count {
            Count::One => min..=max,
            Count::Fixed(count) => min * count as usize..=max * count as usize,
            Count::UpTo(count) => 1..=put::unsigned_len(count.into()) + max * count as usize,
        }
    }

    /// Returns the fewest and most bytes of one value of the parameter on the wire.
    pub fn value_len(&self, registry: &Registry) -> RangeInclusive<usize> {
        let encoding = registry.encoding(self.sort);
        encoding.min_len()..=encoding.max_len(self.max_len)
    }
}

impl Type {
    /// Returns the name of a number of this type.
    pub fn value(&self, number: i128) -> Option<&TypeValue> {
        self.values.binary_search_by_key(&number, |value| value.number).ok().map(|index| &self.values[index])
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.median, self.minor)
    }
}
