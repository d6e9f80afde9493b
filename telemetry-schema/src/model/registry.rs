//! The checked registry. The result of [`crate::parse`] keeps every rule, so generators and
//! decoders need no checks of their own.

use telemetry_format::control;

use crate::model::census::Census;
use crate::model::counter::Counter;
use crate::model::limit::Limit;
use crate::model::range::Range;
use crate::model::replay::Replay;
use crate::model::rule::EventRule;
use crate::model::sensitive::{Network, Sensitive};
use crate::model::sort::Sort;
use crate::model::tracing::Tracing;
use crate::text::limits::DEFAULT_RUN_LEN;

/// One `events.toml`: a named, versioned set of kinds, types and events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Registry {
    /// `snake_case`; unique among the registries of a process.
    pub name: String,
    /// The version of the registry.
    pub version: Version,
    /// The subject of the registry.
    pub doc: String,
    /// Ordered by bit.
    pub kinds: Vec<Kind>,
    /// Words of control that name several events, ordered by name.
    pub presets: Vec<Preset>,
    /// Enums and flags, ordered by name.
    pub types: Vec<Type>,
    /// Ordered by code. Retired events are among them.
    pub events: Vec<Event>,
    /// Pairs of events that begin and end something, ordered by name.
    pub spans: Vec<Span>,
    /// Messages to the program itself, ordered by name.
    pub messages: Vec<Message>,
    /// Rules about events that readers check, ordered by name.
    pub rules: Vec<EventRule>,
}

/// Major.median.minor, as in the MPS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version {
    /// Rises when the form of the whole stream changes.
    pub major: u32,
    /// Rises when the form or meaning of an existing event changes.
    pub median: u32,
    /// Rises when an event is added.
    pub minor: u32,
}

/// A group of events, the unit of output control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// `CamelCase`.
    pub name: String,
    /// 0 to 63.
    pub bit: u8,
    /// The events that belong to it.
    pub doc: String,
    /// The source of its events' times.
    pub clock: Clock,
    /// 0 to 9. Where space is short, shippers shed events of lower priority first.
    pub priority: u8,
    /// Whether its events may leave the host.
    pub network: Network,
}

impl Kind {
    /// The priority of a kind that states none.
    pub const DEFAULT_PRIORITY: u8 = 5;
}

/// A word of control that stands for several: a named set of events.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preset {
    /// `snake_case`.
    pub name: String,
    /// Names of kinds and events, and `all`, with one space between two. A leading `-` takes away
    /// what the word names.
    pub words: String,
}

/// The source of an event's time.
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
    /// The meaning of the numbers.
    pub doc: String,
    /// The integer that encodes it: `U8` to `U64` or `I8` to `I64`; unsigned for flags.
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
    /// The meaning; may be empty.
    pub doc: String,
}

/// One event type of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The meaning of the event.
    pub doc: String,
    /// Its treatment by a replayer.
    pub replay: Option<Replay>,
    /// The range of memory that it begins, ends or moves.
    pub range: Option<Range>,
    /// Its place in a census.
    pub census: Option<Census>,
    /// The span or event of the Rust crate `tracing` that becomes this event.
    pub tracing: Option<Tracing>,
    /// Index of the parameter with the clock reading of the time that the event tells of, if that
    /// is not the time of its emission.
    pub time: Option<usize>,
    /// The counter that the event samples. Such an event has no emitter: the program counts, and
    /// the runtime emits samples.
    pub counter: Option<Counter>,
    /// The limit of how many are recorded, or of which.
    pub limit: Option<Limit>,
    /// In wire order.
    pub params: Vec<Param>,
}

/// One parameter of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param {
    /// `snake_case`.
    pub name: String,
    /// The type of one value.
    pub sort: Sort,
    /// The number of its values.
    pub count: Count,
    /// Its meaning.
    pub doc: String,
    /// The unit of a number: `bytes`, `ns` and so on. Empty without one.
    pub unit: String,
    /// True for a single number that is a reading of something that changes over time, such as the
    /// size of a heap. Viewers draw a curve of it.
    pub is_counter: bool,
    /// For a single pointer, address or word: the number that its values are usually multiples of.
    /// A power of two; 1 if unknown. Any value can be encoded, but one that is not a multiple takes
    /// up to nine bytes.
    pub align: u32,
    /// The number of bytes, 1 to 4, that a value usually takes in a stream, if the registry says
    /// so. A hint for emitters: any value can be encoded, and no event has other bytes.
    pub usual: Option<u8>,
    /// The most bytes of a `String` or `Bytes`; longer ones are cut. 0 for other types.
    pub max_len: u32,
    /// Index, in its event, of the parameter whose value it names.
    pub names: Option<usize>,
    /// The space of its values' numbers, if they are shown with their strings. Empty without such a
    /// mark. See [`Param::number_space`].
    pub numbers: String,
    /// What its number stands for, if that is something that the runtime gives.
    pub role: Option<Role>,
    /// Why its values are not for everyone, if so.
    pub sensitive: Option<Sensitive>,
    /// The version of the registry in which it was appended to its event: streams of older versions
    /// do not have it. `None` for a parameter that the event always had. It is at most the
    /// registry's version, and of the same major. All parameters after it have one too, none of
    /// them lower.
    pub since: Option<Version>,
}

/// What the number of a parameter stands for. The caller of the emitter does not pass it: the
/// runtime finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The call stack of the emitter, which an event `Stack` of the runtime describes. A registry
    /// file writes it as the type `stack`, and the canonical form as a `u32` with `role = "stack"`.
    Stack,
}

/// The number of values of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// A plain value.
    One,
    /// An array of exactly this number, written `[u32; 4]`.
    Fixed(u32),
    /// An array of at most this number, written `[u32]` (with `max = N`); longer ones are cut.
    UpTo(u32),
}

/// A pair of events that begin and end something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// `CamelCase`.
    pub name: String,
    /// Index into [`Registry::events`].
    pub begin: usize,
    /// Index into [`Registry::events`].
    pub end: usize,
    /// The parameter that both events have and that distinguishes running spans. Without one, spans
    /// nest per thread.
    pub key: Option<String>,
    /// The parameter of the begin whose value tools show with the name: a label, a string or an
    /// enum. Spans with different values are counted apart.
    pub named_by: Option<String>,
    /// True if the program stands still between the two, as for a collector.
    pub is_pause: bool,
    /// The meaning of the time between the two.
    pub doc: String,
}

/// A pair of events, or one event, as a message to the program itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// `CamelCase`.
    pub name: String,
    /// Index into [`Registry::events`]. No event is in two messages.
    pub begin: usize,
    /// Index into [`Registry::events`]. `None` for a message without an end.
    pub end: Option<usize>,
    /// The parameter that both events have and that distinguishes running pairs, of a type that is
    /// compared as a number. Without one, one pair runs at a time, in one thread.
    pub key: Option<String>,
    /// The most pairs that run at once, 1 to [`MAX_RUNNING`](crate::limits::MAX_RUNNING); 1 without
    /// a key.
    pub limit: u32,
    /// The meaning of the message.
    pub doc: String,
}

/// The part that an event has in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagePart {
    /// The begin of a pair.
    Begin,
    /// The end of a pair.
    End,
    /// The message has one event only.
    Whole,
}

impl TypeForm {
    /// Returns its word: `enum` or `flags`.
    pub const fn name(self) -> &'static str {
        match self {
            TypeForm::Enum => "enum",
            TypeForm::Flags => "flags",
        }
    }

    /// Returns the form for a word.
    pub fn from_text(text: &str) -> Option<TypeForm> {
        [TypeForm::Enum, TypeForm::Flags].into_iter().find(|form| form.name() == text)
    }
}

impl Registry {
    /// Returns the names of spans, and of messages that are pairs of events.
    pub fn span_names(&self) -> impl Iterator<Item = &str> {
        let pairs = self.messages.iter().filter(|message| message.end.is_some());
        let pairs = pairs.map(|message| message.name.as_str());
        pairs.chain(self.spans.iter().map(|span| span.name.as_str()))
    }

    /// Returns true if a preset has an event: the last of its words that names the event adds it.
    pub fn has(&self, preset: &Preset, event: &Event) -> bool {
        let named = self.control_name(event);
        let words = preset.words.split(' ').map(control::sign);
        // Presets do not nest.
        let names = |word: &str| named.is_named(word, |_| false);
        words.rev().find(|(word, _)| names(word)).is_some_and(|(_, adds)| adds)
    }

    /// Returns true if a word of control, without its sign, names an event.
    pub fn is_named(&self, word: &str, event: &Event) -> bool {
        let in_preset = |name: &str| {
            let mut presets = self.presets.iter().filter(|preset| preset.name.eq_ignore_ascii_case(name));
            presets.any(|preset| self.has(preset, event))
        };
        self.control_name(event).is_named(word, in_preset)
    }

    fn control_name<'a>(&'a self, event: &'a Event) -> control::Named<'a> {
        let kind = self.kind_of(event);
        control::Named { registry: &self.name, kind: &kind.name, bit: kind.bit, event: &event.name }
    }

    /// Returns the message that an event posts, by the event's index, and the event's part in it.
    pub fn message_of(&self, event: usize) -> Option<(&Message, MessagePart)> {
        self.messages.iter().find_map(|message| {
            let part = match (message.begin == event, message.end) {
                (true, None) => MessagePart::Whole,
                (true, Some(_)) => MessagePart::Begin,
                (false, Some(end)) if end == event => MessagePart::End,
                _ => return None,
            };
            Some((message, part))
        })
    }
}

impl Version {
    /// Returns the version of a text such as `1.2.0`, in its only form.
    pub fn from_text(text: &str) -> Option<Version> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        let (major, median, minor) = (parts.next()??, parts.next()??, parts.next()??);
        let version = Version { major, median, minor };
        // A text with leading zeros, a sign or a further part is not accepted.
        (version.to_string() == text).then_some(version)
    }
}

impl Clock {
    /// Every clock.
    pub const ALL: &[Clock] = &[Clock::Precise, Clock::Inherit];

    /// Returns its word in a registry file.
    pub const fn name(self) -> &'static str {
        match self {
            Clock::Precise => "precise",
            Clock::Inherit => "inherit",
        }
    }

    /// Returns the clock for a word.
    pub fn from_text(text: &str) -> Option<Clock> {
        Clock::ALL.iter().copied().find(|clock| clock.name() == text)
    }
}

impl Event {
    /// Returns an event of a kind, without parameters and marks.
    pub fn new(name: impl Into<String>, code: u16, kind: usize) -> Event {
        let (name, doc) = (name.into(), String::new());
        Event {
            name,
            code,
            always: true,
            used: true,
            kind,
            doc,
            replay: None,
            range: None,
            census: None,
            tracing: None,
            time: None,
            counter: None,
            limit: None,
            params: Vec::new(),
        }
    }

    /// Returns the mark `replay` in short: `alloc pointer=block size=size`. Empty without one.
    pub fn replay_text(&self) -> String {
        let Some(replay) = &self.replay else { return String::new() };
        let roles = replay.roles.iter().map(|(role, param)| (role.name(), *param));
        replay.action.name().to_string() + &self.roles_text(roles)
    }

    /// Returns the mark `range` in short: `begin segment base=base size=size`. Empty without one.
    pub fn range_text(&self) -> String {
        let Some(range) = &self.range else { return String::new() };
        let roles = range.roles.iter().map(|(role, param)| (role.name(), *param));
        format!("{} {}", range.action.name(), range.what) + &self.roles_text(roles)
    }

    /// Returns the mark `census` in short: `row heap class=type_name value=bytes`. Empty without
    /// one.
    pub fn census_text(&self) -> String {
        let Some(census) = &self.census else { return String::new() };
        let roles = census.roles.iter().map(|(role, param)| (role.name(), *param));
        format!("{} {}", census.step.name(), census.what) + &self.roles_text(roles)
    }

    fn roles_text(&self, roles: impl Iterator<Item = (&'static str, usize)>) -> String {
        let text = |(role, param): (&str, usize)| {
            let param = self.params.get(param).map_or("", |param| param.name.as_str());
            format!(" {role}={param}")
        };
        roles.map(text).collect()
    }
}

impl Role {
    /// Every role.
    pub const ALL: &[Role] = &[Role::Stack];

    /// Returns the name, which is also that of the type in a registry file.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Stack => "stack",
        }
    }

    /// Returns the role with a name.
    pub fn from_text(text: &str) -> Option<Role> {
        Role::ALL.iter().copied().find(|role| role.name() == text)
    }

    /// Returns the type that encodes the number.
    pub const fn sort(self) -> Sort {
        match self {
            Role::Stack => Sort::U32,
        }
    }
}

impl Param {
    /// Returns a parameter of one value, without marks. A text has the default `max`.
    pub fn new(name: impl Into<String>, sort: Sort) -> Param {
        Param {
            name: name.into(),
            sort,
            count: Count::One,
            doc: String::new(),
            unit: String::new(),
            is_counter: false,
            align: 1,
            usual: None,
            max_len: if sort.is_run() { DEFAULT_RUN_LEN } else { 0 },
            names: None,
            numbers: String::new(),
            role: None,
            sensitive: None,
            since: None,
        }
    }
}

impl Preset {
    /// Returns a preset of these words.
    pub fn new(name: impl Into<String>, words: impl Into<String>) -> Preset {
        Preset { name: name.into(), words: words.into() }
    }
}

impl Span {
    /// Returns a span without a key, from one event to another, by their indices.
    pub fn new(name: impl Into<String>, begin: usize, end: usize) -> Span {
        Span { name: name.into(), begin, end, key: None, named_by: None, is_pause: false, doc: String::new() }
    }
}

impl Message {
    /// Returns a message of a single event, by its index.
    pub fn new(name: impl Into<String>, begin: usize) -> Message {
        Message { name: name.into(), begin, end: None, key: None, limit: 1, doc: String::new() }
    }
}
