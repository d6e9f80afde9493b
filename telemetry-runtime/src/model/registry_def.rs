//! The macro's knowledge of a registry as constant data. It suffices to switch events by name, and
//! to decode them in their own process.

use core::ops::Range;

use telemetry_format::Encoding;

/// A registry.
#[derive(Debug, Clone, Copy)]
pub struct RegistryDef {
    /// The name of the registry.
    pub name: &'static str,
    /// The version: major, median, minor.
    pub version: [u32; 3],
    /// A hash that tells this registry's wire form from all others.
    pub fingerprint: u64,
    /// The canonical form, for the stream.
    pub text: &'static str,
    /// The kinds, by index.
    pub kinds: &'static [Kind],
    /// The presets, by name.
    pub presets: &'static [Preset],
    /// The types, by index.
    pub types: &'static [TypeInfo],
    /// The events that have emitters, ordered by code. The index of an event is its bit in the
    /// mask.
    pub events: &'static [EventInfo],
}

/// A kind of a [`RegistryDef`].
#[derive(Debug, Clone)]
pub struct Kind {
    /// The name, in `CamelCase`.
    pub name: &'static str,
    /// The number of the kind, 0 to 63.
    pub bit: u8,
    /// True if its events have the time of the thread's latest event of another kind.
    pub inherits: bool,
    /// The delta slots of its events' parameters.
    pub slots: Range<usize>,
}

/// A preset of a [`RegistryDef`]: a word of control that names several events.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The name, in `snake_case`.
    pub name: &'static str,
    /// The codes of its events that have emitters, in order.
    pub events: &'static [u16],
}

impl Preset {
    /// Returns true if a word is the name of the preset, in any case, and it has the event with a
    /// code.
    pub(crate) fn has(&self, word: &str, code: u16) -> bool {
        word.eq_ignore_ascii_case(self.name) && self.events.contains(&code)
    }
}

/// Enums and flags of a [`RegistryDef`].
#[derive(Debug, Clone, Copy)]
pub struct TypeInfo {
    /// True for flags, whose values can be combined.
    pub is_flags: bool,
    /// The numbers and their names, ordered by number.
    pub values: &'static [(i128, &'static str)],
}

/// An event of a [`RegistryDef`].
#[derive(Debug, Clone, Copy)]
pub struct EventInfo {
    /// The name, in `CamelCase`.
    pub name: &'static str,
    /// The code in the stream.
    pub code: u16,
    /// The index of its kind.
    pub kind: u8,
    /// The parameters, in wire order.
    pub params: &'static [ParamInfo],
}

/// A parameter of an event: name, unit, sort. The unit of a number is `bytes` or `ns`, for example.
/// It is empty if there is none.
#[derive(Debug, Clone, Copy)]
pub struct ParamInfo(pub &'static str, pub &'static str, pub Sort);

/// How a parameter is encoded, and how its values are shown.
#[derive(Debug, Clone, Copy)]
pub enum Sort {
    /// `pointer` and `addr`: the distance from the delta slot with this number.
    Address(u32),
    /// `word`: the distance from the delta slot with this number.
    Word(u32),
    /// One of the two above, with values that are rotated to the right by this number of bits.
    Aligned(&'static Sort, u32),
    /// A number, float, `bool` or `label`.
    Number(Encoding),
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// An enum or flags: the encoding of the number, and the index of the type.
    Named(Encoding, usize),
    /// An array with this number of elements.
    Fixed(&'static Sort, u32),
    /// An array whose length is in the event.
    Counted(&'static Sort),
}
