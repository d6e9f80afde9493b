//! What the macro knows of a relation at compile time: constant data, enough to switch events by
//! name and to decode them in their own process.

use core::ops::Range;

/// A relation.
#[derive(Debug, Clone, Copy)]
pub struct Relation {
    /// Name of the registry.
    pub name: &'static str,
    /// Major, median, minor.
    pub version: [u32; 3],
    /// What tells this registry's wire form from all others.
    pub fingerprint: u64,
    /// The canonical text, for the stream.
    pub text: &'static str,
    /// By index.
    pub kinds: &'static [Kind],
    /// By index.
    pub types: &'static [TypeInfo],
    /// Those that have emitters, by index, which is also the event's bit in the mask; ordered by code.
    pub events: &'static [EventInfo],
}

/// A kind of a [`Relation`].
#[derive(Debug, Clone)]
pub struct Kind {
    /// `CamelCase`.
    pub name: &'static str,
    /// 0 to 63.
    pub bit: u8,
    /// Its events have the time of the thread's latest event of another kind.
    pub inherits: bool,
    /// The slots that its events' parameters have.
    pub slots: Range<usize>,
}

/// Enums and flags of a [`Relation`].
#[derive(Debug, Clone, Copy)]
pub struct TypeInfo {
    /// True for flags: any set of the values.
    pub is_flags: bool,
    /// Numbers and their names, ordered by number.
    pub values: &'static [(i128, &'static str)],
}

/// An event of a [`Relation`].
#[derive(Debug, Clone, Copy)]
pub struct EventInfo {
    /// `CamelCase`.
    pub name: &'static str,
    /// The number on the wire.
    pub code: u16,
    /// Index of its kind.
    pub kind: u8,
    /// In wire order.
    pub params: &'static [ParamInfo],
}

/// A parameter of an event: name, unit, sort. The unit of a number is `bytes`, `ns` and so on, and empty
/// where there is none.
#[derive(Debug, Clone, Copy)]
pub struct ParamInfo(pub &'static str, pub &'static str, pub Sort);

/// How a value is packed, and so what it looks like.
#[derive(Debug, Clone, Copy)]
pub enum Sort {
    /// `pointer` and `addr`: the distance from the slot of this number.
    Address(u32),
    /// `word`: likewise.
    Word(u32),
    /// One of the two above, whose values are rotated to the right by so many bits.
    Aligned(&'static Sort, u32),
    /// `u8`.
    U8,
    /// `i8`.
    I8,
    /// `u16`, `u32`, `u64`.
    Unsigned,
    /// `i16`, `i32`, `i64`.
    Signed,
    /// `bool`.
    Bool,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// `label`.
    Label,
    /// An enum or flags: how the number is packed, and the index of the type.
    Named(&'static Sort, usize),
    /// An array of just so many.
    Fixed(&'static Sort, u32),
    /// An array whose length is in the event.
    Counted(&'static Sort),
}
