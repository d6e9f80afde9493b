//! Interned strings: each is written once, and then named by its number.

use hashbrown::HashMap;

use super::fields::{interned, packet};
use crate::common::proto::{bytes, message, number};

/// The most strings of values that are interned. Further ones are written each time.
const MAX_STRINGS: usize = 1 << 16;

/// The longest string of a value that is interned.
const MAX_LEN: usize = 256;

/// The interned strings of one sequence of packets.
#[derive(Default)]
pub(super) struct Names {
    categories: Table,
    events: Table,
    annotations: Table,
    strings: Table,
    /// The content of the next `InternedData`.
    new: Vec<u8>,
}

#[derive(Default)]
struct Table(HashMap<Box<str>, u64>);

impl Names {
    /// Appends the strings that are new to the packet that uses them first.
    #[inline]
    pub(super) fn put_new(&mut self, out: &mut Vec<u8>) {
        if !self.new.is_empty() {
            bytes(out, packet::INTERNED_DATA, &self.new);
            self.new.clear();
        }
    }

    /// Returns the number of a category.
    pub(super) fn category(&mut self, name: &str) -> u64 {
        self.categories.number(name, interned::CATEGORIES, &mut self.new)
    }

    /// Returns the number of the name of a slice or instant.
    pub(super) fn event(&mut self, name: &str) -> u64 {
        self.events.number(name, interned::EVENTS, &mut self.new)
    }

    /// Returns the number of the name of an argument.
    pub(super) fn annotation(&mut self, name: &str) -> u64 {
        self.annotations.number(name, interned::ANNOTATIONS, &mut self.new)
    }

    /// Returns the number of a string that is a value, unless it has to be written each time.
    pub(super) fn string(&mut self, text: &str) -> Option<u64> {
        if let Some(known) = self.strings.0.get(text) {
            return Some(*known);
        }
        let has_room = self.strings.0.len() < MAX_STRINGS && text.len() <= MAX_LEN;
        has_room.then(|| self.strings.number(text, interned::STRINGS, &mut self.new))
    }
}

impl Table {
    fn number(&mut self, text: &str, field: u32, new: &mut Vec<u8>) -> u64 {
        if let Some(known) = self.0.get(text) {
            return *known;
        }
        let id = self.0.len() as u64 + 1;
        message(new, field, |entry| {
            number(entry, interned::ID, id);
            bytes(entry, interned::TEXT, text.as_bytes());
        });
        self.0.insert(text.into(), id);
        id
    }
}
