//! Marks of parameters that give names. With `names = "OTHER"`, the value of the parameter is the
//! name of the value of the parameter OTHER of the same event.
#![warn(clippy::wildcard_enum_match_arm)]

use crate::model::registry::{Count, Event, Param, Registry};
use crate::model::sort::Sort;

/// One value of an event gives another one its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Naming {
    /// Index of the parameter whose value gets the name.
    pub of: usize,
    /// The type of that value.
    pub named: Named,
    /// Index of the parameter whose value is the name.
    pub by: usize,
    /// How the value represents the name.
    pub name: NameBy,
}

/// The type of a value that gets a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A label of the session.
    Label,
    /// A number that stands for a string only by the registry's own marks.
    Number,
    /// A pointer.
    Pointer,
    /// An address.
    Addr,
}

/// How a value represents a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameBy {
    /// It is the name.
    Text,
    /// It is the label of the name.
    Label,
    /// It is the number of the name, in the registry's own numbers.
    Number,
    /// It is a pointer that has this name.
    Pointer,
    /// It is an address that has this name.
    Addr,
}

impl Named {
    /// Returns what a value of a type is, if it can get a name.
    pub fn of(sort: Sort) -> Option<Named> {
        Some(match sort {
            Sort::Label => Named::Label,
            Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Named::Number,
            Sort::Pointer => Named::Pointer,
            Sort::Addr => Named::Addr,
            Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64 | Sort::F32 | Sort::F64 => return None,
            Sort::Bool | Sort::String | Sort::Bytes | Sort::Named(_) => return None,
        })
    }

    /// Returns true for labels and numbers, which only stand for strings.
    pub fn is_number(self) -> bool {
        matches!(self, Named::Label | Named::Number)
    }
}

impl NameBy {
    /// Returns how a value of a type represents a name, if it can.
    pub fn of(sort: Sort) -> Option<NameBy> {
        if sort == Sort::String {
            return Some(NameBy::Text);
        }
        Named::of(sort).map(|named| match named {
            Named::Label => NameBy::Label,
            Named::Number => NameBy::Number,
            Named::Pointer => NameBy::Pointer,
            Named::Addr => NameBy::Addr,
        })
    }
}

impl Param {
    /// Returns the space of numbers that its values belong to. Parameters with the same space of a
    /// registry have the same strings. It is the mark `numbers`, or else the parameter's name.
    pub fn number_space(&self) -> &str {
        if self.numbers.is_empty() { &self.name } else { &self.numbers }
    }

    /// Returns true if its values can be numbers of strings.
    pub fn has_numbers(&self) -> bool {
        Named::of(self.sort) == Some(Named::Number)
    }
}

impl Event {
    /// Returns the parameter that gets a name from it.
    pub fn namings(&self) -> impl Iterator<Item = Naming> + '_ {
        self.params.iter().enumerate().filter_map(|(by, param)| {
            let of = param.names?;
            let named = Named::of(self.params.get(of).filter(|of| of.count == Count::One)?.sort)?;
            let name = NameBy::of(param.sort).filter(|_| param.count == Count::One)?;
            Some(Naming { of, named, by, name })
        })
    }
}

impl Registry {
    /// Returns true if a parameter gives names.
    pub fn gives_names(&self) -> bool {
        self.events.iter().any(|event| event.params.iter().any(|param| param.names.is_some()))
    }

    /// Returns true if an event gives strings for the numbers of a space.
    pub fn names_numbers(&self, space: &str) -> bool {
        let named = |event: &Event| {
            event.namings().any(|naming| {
                naming.named == Named::Number && event.params[naming.of].number_space() == space
            })
        };
        self.events.iter().any(named)
    }

    /// Returns true if pointers and addresses have separate names: if events name both, one number
    /// can be both. Otherwise the name of an address is also that of a pointer, and vice versa.
    pub fn names_apart(&self) -> bool {
        let names = |named| self.events.iter().flat_map(Event::namings).any(|naming| naming.named == named);
        names(Named::Pointer) && names(Named::Addr)
    }

    /// Takes the marks `names`, `numbers` and `time` of the same or a later version of the
    /// registry, unless it has such marks itself: an older stream has the registry without them.
    /// The same holds for `range`, and for `census`. Events are matched by code and name,
    /// parameters by position, name and type.
    pub fn take_names(&mut self, later: &Registry) {
        let is_later = self.name == later.name
            && self.version.major == later.version.major
            && self.version <= later.version;
        if !is_later {
            return;
        }
        self.take_ranges(later);
        if self.gives_names() {
            return;
        }
        let text = |registry: &Registry, event: &Event, at: usize| {
            let param = event.params.get(at)?;
            Some((param.name.clone(), registry.sort_text(param)))
        };
        let (mut marks, mut numbers, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for (index, event) in self.events.iter().enumerate() {
            let same =
                later.events.iter().find(|other| (other.code, &other.name) == (event.code, &event.name));
            let Some(same) = same else { continue };
            let is_same = |at| text(self, event, at).is_some_and(|is| Some(is) == text(later, same, at));
            for naming in same.namings() {
                if is_same(naming.of) && is_same(naming.by) {
                    marks.push((index, naming));
                }
            }
            let with_numbers = same.params.iter().enumerate().filter(|(at, _)| is_same(*at));
            numbers.extend(with_numbers.map(|(at, param)| (index, at, param.numbers.clone())));
            times.extend(same.time.filter(|at| is_same(*at)).map(|at| (index, at)));
        }
        for (index, naming) in marks {
            self.events[index].params[naming.by].names = Some(naming.of);
        }
        for (index, at, space) in numbers {
            self.events[index].params[at].numbers = space;
        }
        for (index, at) in times {
            self.events[index].time = Some(at);
        }
    }

    /// Takes the marks `range` and `census` of a later version, unless it has such marks itself.
    fn take_ranges(&mut self, later: &Registry) {
        let has_ranges = self.events.iter().any(|event| event.range.is_some());
        let has_censuses = self.events.iter().any(|event| event.census.is_some());
        let text = |registry: &Registry, event: &Event, at: usize| {
            event.params.get(at).map(|param| (param.name.clone(), registry.sort_text(param)))
        };
        let mut taken = Vec::new();
        for (index, event) in self.events.iter().enumerate() {
            let is_it = |other: &&Event| (other.code, &other.name) == (event.code, &event.name);
            let Some(same) = later.events.iter().find(is_it) else { continue };
            let is_same =
                |at: usize| text(self, event, at).is_some_and(|is| Some(is) == text(later, same, at));
            let range = same.range.as_ref().filter(|range| range.roles.iter().all(|(_, at)| is_same(*at)));
            let census =
                same.census.as_ref().filter(|census| census.roles.iter().all(|(_, at)| is_same(*at)));
            taken.push((index, range.cloned(), census.cloned()));
        }
        for (index, range, census) in taken {
            if !has_ranges {
                self.events[index].range = range;
            }
            if !has_censuses {
                self.events[index].census = census;
            }
        }
    }
}
