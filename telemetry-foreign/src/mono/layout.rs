//! How events stand in a buffer: what the tables of the versions are made of, and a version's table made ready.

use telemetry_decode::Namings;
use telemetry_schema::{Count, NameBy, Registry};

use super::what::What;
use super::{v1, v17};

/// Most parameters of an event that are no lists.
pub(super) const MAX_FIELDS: usize = 8;

/// How a parameter stands in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// Signed LEB128, added to the buffer's base of pointers.
    Pointer,
    /// Signed LEB128, added to the buffer's base of objects; 8 bytes each.
    Object,
    /// Signed LEB128, added to the method before, or for the first to the buffer's base of methods.
    Method,
    /// Unsigned LEB128.
    Number,
    /// One byte.
    Byte,
    /// Text up to a byte 0.
    Text,
    /// As `Text` if the event's first parameter is this; else nothing.
    TextIf(u64),
}

/// What stands behind the single parameters of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    None,
    Frames(Frames),
    /// Number of objects, and objects: two for each that was moved.
    Pairs,
    /// Number of objects, and objects.
    Objects,
    /// Number, and for each a number and an object.
    OffsetsAndObjects,
    /// Number, and for each a pointer and an object.
    PointersAndObjects,
    /// Number of pointers, pointers, and frames.
    PointersAndFrames,
    /// Number, and descriptions of counters. Each is an event in the relation.
    Counters,
    /// Values of counters, up to one of counter 0. Each is an event in the relation, by the type of its value.
    CounterValues,
}

/// How the frames of a backtrace stand in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frames {
    /// Flags and number of frames; frames are pointers. Flags are a parameter.
    FlagsAndPointers,
    /// Number of frames; frames are methods.
    Methods,
}

/// One event of a version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// Its first byte.
    pub(super) code: u8,
    /// The byte behind the time, for those that share a first byte.
    pub(super) sub: Option<u8>,
    /// Whether the time since the event before stands behind the first byte.
    pub(super) is_timed: bool,
    /// Its name in the relation; of a list of counters, that of the first kind of event in it.
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
    pub(super) list: List,
}

/// What the file header says of a version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    pub(super) major: u8,
    pub(super) minor: u8,
    pub(super) data: u8,
}

pub(super) const fn row(code: u8, name: &'static str, fields: &'static [Field], list: List) -> Row {
    Row { code, sub: None, is_timed: true, name, fields, list }
}

pub(super) const fn with_sub(code: u8, sub: u8, name: &'static str, fields: &'static [Field]) -> Row {
    Row { code, sub: Some(sub), is_timed: true, name, fields, list: List::None }
}

pub(super) const fn without_time(code: u8, name: &'static str, fields: &'static [Field], list: List) -> Row {
    Row { code, sub: None, is_timed: false, name, fields, list }
}

/// Data versions that are known.
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

/// An event of a version, and what it is in the relation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Its own place in the table.
    pub(super) index: usize,
    pub(super) row: Row,
    pub(super) what: What,
    /// Bit of its kind there.
    pub(super) kind: u8,
    /// Most elements of a list.
    pub(super) most: u64,
    /// Index of the text that names what the first parameter points to.
    pub(super) name: Option<u8>,
}

/// A version's table, made ready.
pub(super) struct Layout {
    pub(super) version: Version,
    /// Those that share a first byte stand together.
    entries: Vec<Entry>,
    /// By first byte: index of its first entry, or [`Layout::UNKNOWN`].
    first: [u8; 256],
    /// By first byte: the event, if it has nothing but a method behind the time. Most events are such.
    calls: [Option<What>; 256],
    /// Bit of the kind of calls.
    pub(super) call_kind: u8,
    /// By event: its index in the relation.
    indices: Vec<u32>,
    /// Which of them give names.
    pub(super) namings: Namings,
}

impl Layout {
    const UNKNOWN: u8 = u8::MAX;

    /// The table of a version against the relation.
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

    /// The index of an event in the relation.
    #[inline]
    pub(super) fn index(&self, what: What) -> u32 {
        self.indices[what as usize]
    }

    /// The event of a first byte that has nothing but a method behind the time.
    #[inline(always)]
    pub(super) fn call(&self, code: u8) -> Option<What> {
        self.calls[usize::from(code)]
    }

    /// The first entry of a first byte.
    #[inline]
    pub(super) fn first(&self, code: u8) -> Option<&Entry> {
        self.entries.get(usize::from(self.first[usize::from(code)]))
    }

    /// The entry of a first byte and the byte behind the time.
    pub(super) fn with_sub(&self, code: u8, sub: u8) -> Option<&Entry> {
        let from = usize::from(self.first[usize::from(code)]);
        let of_code = self.entries.get(from..)?.iter().take_while(|entry| entry.row.code == code);
        of_code.into_iter().find(|entry| entry.row.sub == Some(sub))
    }

    /// The entry at a place in the table.
    pub(super) fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    /// The entry of an event.
    pub(super) fn of_what(&self, what: What) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.what == what)
    }
}

/// The text by which an event names what its first parameter points to.
fn name_param(namings: &Namings, event: usize) -> Option<u8> {
    let is_text = |mark: &&telemetry_decode::Mark| mark.naming.name == NameBy::Text && mark.naming.of == 0;
    namings.of_event(event).iter().find(is_text).map(|mark| mark.naming.by as u8)
}

/// Most elements of each list of an event: what the relation allows.
fn most_elements(registry: &Registry, event: usize) -> u64 {
    let params = registry.events.get(event).map_or(&[][..], |event| &event.params);
    let most = params.iter().filter_map(|param| match param.count {
        Count::UpTo(most) => Some(u64::from(most)),
        _ => None,
    });
    most.min().unwrap_or(0)
}
