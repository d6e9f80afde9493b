//! How many bytes events take on the wire, and how to look things up in a registry.

use std::ops::RangeInclusive;

use crate::{Count, Event, Kind, Param, Registry, Sort, Type, TypeValue, Version};

impl Registry {
    /// The event of a code.
    pub fn event(&self, code: u16) -> Option<&Event> {
        self.event_index(code).map(|index| &self.events[index])
    }

    /// The index of the event of a code.
    pub fn event_index(&self, code: u16) -> Option<usize> {
        self.events.binary_search_by_key(&code, |event| event.code).ok()
    }

    /// The event of a name.
    pub fn event_named(&self, name: &str) -> Option<&Event> {
        self.events.iter().find(|event| event.name == name)
    }

    /// The kind of an event of this registry.
    pub fn kind_of(&self, event: &Event) -> &Kind {
        &self.kinds[event.kind]
    }

    /// The enum or flags of a [`Sort::Named`] of this registry; none for the other sorts.
    pub fn ty(&self, sort: Sort) -> Option<&Type> {
        match sort {
            Sort::Named(index) => self.types.get(index),
            _ => None,
        }
    }

    /// How a value of a sort is packed: an enum or flags as their repr, any other sort as itself.
    pub fn repr(&self, sort: Sort) -> Sort {
        self.ty(sort).map_or(sort, |ty| ty.repr)
    }

    /// The long name of a sort, or the name of its type.
    pub fn sort_name(&self, sort: Sort) -> &str {
        sort.name().or_else(|| self.ty(sort).map(|ty| ty.name.as_str())).unwrap_or("?")
    }

    /// The sort of a parameter as the relation writes it: `word`, `[u32; 4]`, `[TraceWhy]`.
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
    /// Fewest bytes of the event's parameters on the wire.
    pub fn min_len(&self, registry: &Registry) -> usize {
        self.params.iter().map(|param| *param.wire_len(registry).start()).sum()
    }

    /// Most bytes of the event's parameters on the wire; at most [`crate::limits::MAX_EVENT_LEN`].
    pub fn max_len(&self, registry: &Registry) -> usize {
        self.params.iter().map(|param| *param.wire_len(registry).end()).sum()
    }
}

impl Param {
    /// Fewest and most bytes of the parameter on the wire: of all its elements, with their count
    /// before them where it varies.
    pub fn wire_len(&self, registry: &Registry) -> RangeInclusive<usize> {
        let (min, max) = self.value_len(registry).into_inner();
        match self.count {
            Count::One => min..=max,
            Count::Fixed(count) => min * count as usize..=max * count as usize,
            Count::UpTo(count) => 1..=varint_len(count.into()) + max * count as usize,
        }
    }

    /// Fewest and most bytes of one value of the parameter on the wire.
    pub fn value_len(&self, registry: &Registry) -> RangeInclusive<usize> {
        match registry.repr(self.sort) {
            Sort::U8 | Sort::I8 | Sort::Bool => 1..=1,
            Sort::U16 | Sort::I16 => 1..=varint_len(u16::MAX.into()),
            Sort::U32 | Sort::I32 => 1..=varint_len(u32::MAX.into()),
            Sort::U64 | Sort::I64 | Sort::Label => 1..=varint_len(u64::MAX),
            Sort::Pointer | Sort::Addr | Sort::Word => 1..=varint_len(u64::MAX),
            Sort::F32 => 4..=4,
            Sort::F64 => 8..=8,
            Sort::String | Sort::Bytes => 1..=varint_len(self.max_len.into()) + self.max_len as usize,
            // The repr of a type is an integer.
            Sort::Named(_) => 1..=varint_len(u64::MAX),
        }
    }
}

impl Type {
    /// The name of a number of this type.
    pub fn value(&self, number: i128) -> Option<&TypeValue> {
        self.values.binary_search_by_key(&number, |value| value.number).ok().map(|index| &self.values[index])
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.median, self.minor)
    }
}

/// Bytes of a number as the prefix varint of `telemetry-format`: seven bits each, and nine for any.
const fn varint_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    let len = bits.div_ceil(7);
    if len < 9 { len } else { 9 }
}
