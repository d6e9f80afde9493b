//! A row of a version's table: the bytes of one event.

/// The encoding of a parameter in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// Signed LEB128, added to the buffer's base of pointers.
    Pointer,
    /// Signed LEB128, added to the buffer's base of objects; 8 bytes each.
    Object,
    /// Signed LEB128, added to the previous method; for the first, to the buffer's base of methods.
    Method,
    /// Unsigned LEB128.
    Number,
    /// One byte.
    Byte,
    /// Text up to a byte 0.
    Text,
    /// As `Text`, if the event's first parameter has this value; otherwise nothing.
    TextIf(u64),
}

/// The data after the single parameters of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    None,
    Frames(Frames),
    /// The number of objects, and the objects: two for each that was moved.
    Pairs,
    /// The number of objects, and the objects.
    Objects,
    /// A number, and for each element a number and an object.
    OffsetsAndObjects,
    /// A number, and for each element a pointer and an object.
    PointersAndObjects,
    /// The number of pointers, the pointers, and frames.
    PointersAndFrames,
    /// A number, and descriptions of counters. Each is an event in the registry.
    Counters,
    /// Values of counters, up to one of counter 0. Each is an event in the registry, by the type of
    /// its value.
    CounterValues,
}

/// The encoding of the frames of a backtrace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frames {
    /// Flags and the number of frames; frames are pointers. The flags are a parameter.
    FlagsAndPointers,
    /// The number of frames; frames are methods.
    Methods,
}

/// One event of a version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// Its first byte.
    pub(super) code: u8,
    /// The byte after the time, for events with the same first byte.
    pub(super) sub: Option<u8>,
    /// True if the time since the previous event follows the first byte.
    pub(super) is_timed: bool,
    /// Its name in the registry; for a list of counters, that of the first kind of event in it.
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
    pub(super) list: List,
}

/// The facts of the file header in a version.
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
