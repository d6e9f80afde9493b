//! Marks of parameters that give names: `names = "OTHER"`, the value of the parameter is the name of what the
//! parameter OTHER of the same event holds.

use crate::{Count, Event, Registry, Sort};

/// One value of an event gives another one its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naming {
    /// Index of the parameter whose value gets the name.
    pub of: usize,
    /// What that is.
    pub named: Named,
    /// Index of the parameter whose value is the name.
    pub by: usize,
    /// How it says the name.
    pub name: NameBy,
}

/// What gets a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A label of the session.
    Label,
    /// A number that only the relation's own marks know to stand for a string.
    Number,
    /// A pointer.
    Pointer,
    /// An address.
    Addr,
}

/// How a value says a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameBy {
    /// It is the name.
    Text,
    /// It is the label of the name.
    Label,
    /// It is the number of the name, in the relation's own numbers.
    Number,
    /// It is a pointer that is called so.
    Pointer,
    /// It is an address that is called so.
    Addr,
}

impl Named {
    /// What a value of a sort is, if it can get a name.
    pub fn of(sort: Sort) -> Option<Named> {
        Some(match sort {
            Sort::Label => Named::Label,
            Sort::Word | Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64 => Named::Number,
            Sort::Pointer => Named::Pointer,
            Sort::Addr => Named::Addr,
            _ => return None,
        })
    }

    /// True for labels and numbers, which stand for a string and for nothing else.
    pub fn is_number(self) -> bool {
        matches!(self, Named::Label | Named::Number)
    }
}

impl NameBy {
    /// How a value of a sort says a name, if it can.
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

impl Event {
    /// What gets a name from it.
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
    /// True if a parameter gives names.
    pub fn gives_names(&self) -> bool {
        self.events.iter().any(|event| event.params.iter().any(|param| param.names.is_some()))
    }

    /// True if pointers and addresses have names apart: where events name both, one number can be both. Else
    /// what an address or a pointer is called, the other is called, too.
    pub fn names_apart(&self) -> bool {
        let names = |named| self.events.iter().flat_map(Event::namings).any(|naming| naming.named == named);
        names(Named::Pointer) && names(Named::Addr)
    }

    /// Takes the marks of a later version of the relation, or of the same, unless it has some: an older stream has
    /// it as it was before they were made. Events are the same by code and name, and parameters by place, name and sort.
    pub fn take_names(&mut self, later: &Registry) {
        let is_later = self.name == later.name
            && self.version.major == later.version.major
            && self.version <= later.version;
        if !is_later || self.gives_names() {
            return;
        }
        let text = |registry: &Registry, event: &Event, at: usize| {
            let param = event.params.get(at)?;
            Some((param.name.clone(), registry.sort_text(param)))
        };
        let mut marks = Vec::new();
        for (index, event) in self.events.iter().enumerate() {
            let same =
                later.events.iter().find(|other| (other.code, &other.name) == (event.code, &event.name));
            for naming in same.iter().flat_map(|other| other.namings()) {
                let is_same = |at| same.is_some_and(|other| text(self, event, at) == text(later, other, at));
                if is_same(naming.of) && is_same(naming.by) {
                    marks.push((index, naming));
                }
            }
        }
        for (index, naming) in marks {
            self.events[index].params[naming.by].names = Some(naming.of);
        }
    }
}
