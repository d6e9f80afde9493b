//! The layout of events in a buffer: the tables of the versions, prepared for use.

use telemetry_decode::names::Namings;
use telemetry_schema::{Count, NameBy, Registry};

use super::row::{Field, List, Row, Stamp};
use super::what::What;
use super::{v1, v17};

/// The most parameters of an event that are not lists.
pub(super) const MAX_FIELDS: usize = 8;

/// The known data versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Seventeen,
}

impl Version {
    pub(super) fn of(data: u64) -> Option<Version> {
        [Version::One, Version::Seventeen].into_iter().find(|version| u64::from(version.stamp().data) == data)
    }

    pub(super) fn stamp(self) -> &'static Stamp {
        match self {
            Version::One => &v1::STAMP,
            Version::Seventeen => &v17::STAMP,
        }
    }

    pub(super) fn rows(self) -> &'static [Row] {
        match self {
            Version::One => v1::ROWS,
            Version::Seventeen => v17::ROWS,
        }
    }
}

/// An event of a version, and its event in the registry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Its own place in the table.
    pub(super) index: usize,
    pub(super) row: Row,
    pub(super) what: What,
    /// The bit of its kind in the registry.
    pub(super) kind: u8,
    /// The most elements of a list.
    pub(super) most: u64,
    /// Index of the text that names the target of the first parameter.
    pub(super) name: Option<u8>,
}

/// The prepared table of a version.
pub(super) struct Layout {
    pub(super) version: Version,
    /// Events with the same first byte are neighbors.
    entries: Vec<Entry>,
    /// By first byte: index of its first entry, or [`Layout::UNKNOWN`].
    first: [u8; 256],
    /// By first byte: the event, if it has only a method after the time. Most events do.
    calls: [Option<What>; 256],
    /// Bit of the kind of calls.
    pub(super) call_kind: u8,
    /// By event: its index in the registry.
    indices: Vec<u32>,
    /// The events that give names.
    pub(super) namings: Namings,
}

impl Layout {
    const UNKNOWN: u8 = u8::MAX;

    /// Prepares the table of a version for the registry.
    pub(super) fn new(version: Version, registry: &Registry) -> Layout {
        let namings = Namings::new(registry);
        let index = |name: &str| {
            registry.events.iter().position(|event| event.name == name).unwrap_or_default() as u32
        };
        let indices: Vec<u32> = What::ALL.iter().map(|(_, name)| index(name)).collect();
        let mut entries: Vec<Entry> = Vec::new();
        let (mut calls, mut call_kind) = ([None; 256], 0);
        for row in version.rows() {
            let Some(what) = What::of(row.name) else { continue };
            let event = indices[what as usize];
            let kind = registry.events.get(event as usize).map_or(0, |event| registry.kind_of(event).bit);
            if row.is_timed && row.fields == [Field::Method] && row.list == List::None {
                calls[usize::from(row.code)] = Some(what);
                call_kind = kind;
            }
            let most = most_elements(registry, event as usize);
            let name = name_param(&namings, event as usize);
            entries.push(Entry { index: 0, row: *row, what, kind, most, name });
        }
        entries.sort_by_key(|entry| entry.row.code);
        let mut first = [Layout::UNKNOWN; 256];
        for (index, entry) in entries.iter_mut().enumerate().rev() {
            entry.index = index;
            first[usize::from(entry.row.code)] = index as u8;
        }
        Layout { version, entries, first, calls, call_kind, indices, namings }
    }

    /// Returns the index of an event in the registry.
    #[inline]
    pub(super) fn index(&self, what: What) -> u32 {
        self.indices[what as usize]
    }

    /// Returns the event with a first byte, if it has only a method after the time.
    #[inline(always)]
    pub(super) fn call(&self, code: u8) -> Option<What> {
        self.calls[usize::from(code)]
    }

    /// Returns the first entry with a first byte.
    #[inline]
    pub(super) fn first(&self, code: u8) -> Option<&Entry> {
        self.entries.get(usize::from(self.first[usize::from(code)]))
    }

    /// Returns the entry with a first byte and the byte after the time.
    pub(super) fn with_sub(&self, code: u8, sub: u8) -> Option<&Entry> {
        let from = usize::from(self.first[usize::from(code)]);
        let of_code = self.entries.get(from..)?.iter().take_while(|entry| entry.row.code == code);
        of_code.into_iter().find(|entry| entry.row.sub == Some(sub))
    }

    /// Returns the entry at a place in the table.
    pub(super) fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    /// Returns the entry for writing an event: the highest of several first bytes.
    pub(super) fn of_what(&self, what: What) -> Option<&Entry> {
        self.entries.iter().rfind(|entry| entry.what == what)
    }
}

/// Returns the text by which an event names the target of its first parameter.
fn name_param(namings: &Namings, event: usize) -> Option<u8> {
    let is_text =
        |mark: &&telemetry_decode::names::Mark| mark.naming.name == NameBy::Text && mark.naming.of == 0;
    namings.of_event(event).iter().find(is_text).map(|mark| mark.naming.by as u8)
}

/// Returns the most elements of each list of an event, according to the registry.
fn most_elements(registry: &Registry, event: usize) -> u64 {
    let params = registry.events.get(event).map_or(&[][..], |event| &event.params);
    let most = params.iter().filter_map(|param| match param.count {
        Count::UpTo(most) => Some(u64::from(most)),
        _ => None,
    });
    most.min().unwrap_or(0)
}
