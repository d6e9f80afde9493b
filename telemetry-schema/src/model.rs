//! The checked relation. What [`crate::parse`] returns keeps every rule, so that generators and
//! decoders need none of their own.

use crate::{Replay, Sort};

/// One `events.toml`: a named, versioned set of kinds, types and events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Registry {
    /// `snake_case`; unique among the registries of a process.
    pub name: String,
    /// The version of the whole.
    pub version: Version,
    /// What the registry describes.
    pub doc: String,
    /// Ordered by bit.
    pub kinds: Vec<Kind>,
    /// Enums and flags, ordered by name.
    pub types: Vec<Type>,
    /// Ordered by code. Retired events are among them.
    pub events: Vec<Event>,
    /// Pairs of events that begin and end something, ordered by name.
    pub spans: Vec<Span>,
    /// What the program itself may hear, ordered by name.
    pub messages: Vec<Message>,
}

/// Major.median.minor, as the MPS counts: the form of the whole stream, the form or meaning of an
/// existing event, the addition of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version {
    /// The form of the whole stream.
    pub major: u32,
    /// The form or meaning of an existing event.
    pub median: u32,
    /// The addition of an event.
    pub minor: u32,
}

/// A coarse group of events, the unit of output control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// `CamelCase`.
    pub name: String,
    /// 0 to 63.
    pub bit: u8,
    /// What belongs in it.
    pub doc: String,
    /// Where its events' times come from.
    pub clock: Clock,
}

/// Where an event's time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// A clock reading of its own.
    #[default]
    Precise,
    /// The thread's latest reading, of any kind.
    Inherit,
}

/// A named type: numbers with names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// `CamelCase`.
    pub name: String,
    /// What the numbers stand for.
    pub doc: String,
    /// The integer that carries it: `U8` to `U64` or `I8` to `I64`; unsigned for flags.
    pub repr: Sort,
    /// One of the values, or any of the bits.
    pub form: TypeForm,
    /// The named numbers, ordered by number. For flags each is a mask of one bit or more.
    pub values: Vec<TypeValue>,
}

/// How the values of a type combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeForm {
    /// One of the values.
    Enum,
    /// Any set of the values, or-ed.
    Flags,
}

/// A named number of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeValue {
    /// `CamelCase` for enums and flags.
    pub name: String,
    /// Fits the type's repr.
    pub number: i128,
    /// What it stands for; may be empty.
    pub doc: String,
}

/// One row of the relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `CamelCase`.
    pub name: String,
    /// The number on the wire. Never reused.
    pub code: u16,
    /// Compiled into the hot variety as well as the cool one. False on critical paths.
    pub always: bool,
    /// False once retired: no emitter, still decodable.
    pub used: bool,
    /// Index into [`Registry::kinds`].
    pub kind: usize,
    /// What happened.
    pub doc: String,
    /// What a replayer does for it.
    pub replay: Option<Replay>,
    /// In wire order.
    pub params: Vec<Param>,
}

/// One parameter of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// `snake_case`.
    pub name: String,
    /// What one value of it is.
    pub sort: Sort,
    /// How many values it has.
    pub count: Count,
    /// What it says.
    pub doc: String,
    /// Of a number: `bytes`, `ns` and so on. Empty where there is none.
    pub unit: String,
    /// Of a single pointer, address or word: what its values are multiples of, as a rule; a power of two, 1 where
    /// nothing is known. Any value can be written, but one that is no multiple takes up to nine bytes.
    pub align: u32,
    /// Most bytes of a `String` or `Bytes`; longer ones are cut. 0 for other sorts.
    pub max_len: u32,
    /// Index, in its event, of the parameter whose value its own value is the name of.
    pub names: Option<usize>,
    /// The version of the registry in which it was appended to its event: streams of older versions
    /// do not have it. None for a parameter that the event always had. At most the registry's
    /// version and of its major; behind a parameter that has one all have one, none of them lower.
    pub since: Option<Version>,
}

/// How many values a parameter has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// A plain value.
    One,
    /// An array of just so many, written `[u32; 4]`.
    Fixed(u32),
    /// An array of at most so many, written `[u32]` (with `max = N`); longer ones are cut.
    UpTo(u32),
}

/// A pair of events that begin and end something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// `CamelCase`.
    pub name: String,
    /// Index into [`Registry::events`].
    pub begin: usize,
    /// Index into [`Registry::events`].
    pub end: usize,
    /// The parameter that both events have and that tells running spans apart; without one, spans
    /// nest per thread.
    pub key: Option<String>,
    /// What runs between the two.
    pub doc: String,
}

/// A pair of events, or one event, that the program itself may hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// `CamelCase`.
    pub name: String,
    /// Index into [`Registry::events`]. No event is in two messages.
    pub begin: usize,
    /// Index into [`Registry::events`]; none of a message that stands alone.
    pub end: Option<usize>,
    /// The parameter that both events have and that tells running pairs apart, of a sort that is
    /// compared as a number; without one a pair runs at a time, in one thread.
    pub key: Option<String>,
    /// How many may run at once, 1 to [`MAX_RUNNING`](crate::limits::MAX_RUNNING); 1 without a key.
    pub limit: u32,
    /// What the program hears of.
    pub doc: String,
}

impl TypeForm {
    /// The word for it: `enum` or `flags`.
    pub const fn name(self) -> &'static str {
        match self {
            TypeForm::Enum => "enum",
            TypeForm::Flags => "flags",
        }
    }

    /// The form of a word.
    pub fn from_text(text: &str) -> Option<TypeForm> {
        [TypeForm::Enum, TypeForm::Flags].into_iter().find(|form| form.name() == text)
    }
}

impl Version {
    /// The version of a text such as `1.2.0`, the only text that is written for it.
    pub fn from_text(text: &str) -> Option<Version> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        let (major, median, minor) = (parts.next()??, parts.next()??, parts.next()??);
        let version = Version { major, median, minor };
        // What is written otherwise, with zeros before it, a sign or a further part, is another text.
        (version.to_string() == text).then_some(version)
    }
}

impl Clock {
    /// Every clock.
    pub const ALL: &[Clock] = &[Clock::Precise, Clock::Inherit];

    /// How the relation writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Clock::Precise => "precise",
            Clock::Inherit => "inherit",
        }
    }

    /// The clock of a name.
    pub fn from_text(text: &str) -> Option<Clock> {
        Clock::ALL.iter().copied().find(|clock| clock.name() == text)
    }
}
