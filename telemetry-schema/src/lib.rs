//! The meaning of a telemetry registry.
//!
//! [`parse`] turns the text of an `events.toml` into a checked [`Registry`], or into a list of all
//! its mistakes. The macro, the generators, the decoders and the tools all call it. [`version`]
//! compares it with its release. Only [`load`] and [`load_lock`] do I/O. Nothing here knows a
//! target language.
//!
//! # events.toml
//!
//! ```
//! # let text = r#"
//! #:schema ./telemetry-schema/events.schema.json
//! [registry]
//! name = "gc"                                    # snake_case
//! version = "1.0.1"                              # or { major = 1, median = 0, minor = 1 }
//! doc = "A small collector's view of itself"
//!
//! [kinds]                                        # up to 64, each with its own bit
//! Trace = { bit = 2, doc = "per trace or scan" }
//! Ref = { bit = 4, doc = "per reference or fix", clock = "inherit" }   # or "precise"
//!
//! [presets]                                      # words of control that stand for several
//! gc = "Trace Ref -TraceEnd"
//!
//! [types.TraceWhy]                               # an enum
//! repr = "u8"                                    # u8 to u64, i8 to i64
//! values = { ClientRequest = 1, NurseryFull = { value = 2, doc = "no room in the nursery" } }
//!
//! [types.Access]                                 # flags: any of the values, or-ed
//! repr = "u16"                                   # u8 to u64
//! flags = true
//! doc = "what memory may be used for"
//! values = { Read = 1, Write = 2 }
//!
//! [[event]]
//! name = "TraceStart"                            # CamelCase; the emitter is `trace_start!`
//! code = 0x0011                                  # 0 to 65535, never reused
//! always = true                                  # false: compiled out of the hot variety
//! used = true                                    # false: retired
//! kind = "Trace"
//! doc = "A trace began"
//! params = [                                     # up to 64, in wire order
//!   { name = "trace", sort = "P", doc = "the trace" },
//!   { name = "why", type = "TraceWhy" },                    # `type` is another name of `sort`
//!   { name = "condemned", sort = "word", unit = "bytes" },
//!   { name = "object", sort = "pointer", align = 16 },    # a usual multiple: fewer bytes
//!   { name = "comment", sort = "string", max = 80 },        # bytes; default 1024
//!   { name = "stack", sort = "[pointer]", max = 16 },       # elements; default 64
//!   { name = "ranks", sort = "[u32; 4]" },
//!   { name = "pause", sort = "u64", unit = "ns", since = "1.0.1" },   # appended in that version
//! ]
//!
//! [[event]]                                      # a replayer repeats such an event
//! name = "Resized"
//! code = 0x0020
//! kind = "Trace"
//! doc = "A block was given another size, and perhaps another place"
//! replay = { action = "realloc", old = "before", pointer = "after", size = "size" }
//! params = [
//!   { name = "before", sort = "A" },
//!   { name = "after", sort = "A" },
//!   { name = "size", sort = "W", unit = "bytes" },
//! ]
//!
//! [[event]]                                      # where names come from
//! name = "PoolNamed"
//! code = 0x0030
//! kind = "Trace"
//! doc = "A pool got a name"
//! params = [
//!   { name = "pool", sort = "P" },
//!   { name = "called", sort = "string", names = "pool" },   # names the value of `pool`
//! ]
//!
//! [[event]]
//! name = "TraceEnd"
//! code = 0x0012
//! kind = "Trace"
//! doc = "A trace ended"
//! params = [{ name = "trace", sort = "P" }]
//!
//! [[span]]                                       # a pair of events, shown as one thing
//! name = "Trace"
//! begin = "TraceStart"
//! end = "TraceEnd"
//! key = "trace"                                  # without one, spans nest per thread
//! pause = true                                   # the program stands still; default false
//! doc = "One trace from start to end"
//!
//! [[message]]                                     # a message to the program itself
//! name = "Gc"
//! begin = "TraceStart"
//! end = "TraceEnd"                               # optional
//! key = "trace"                                  # without one, one pair at a time, in one thread
//! limit = 4                                      # how many may run at once, with a key; default 8
//! doc = "The collector at work"
//!
//! [[rule]]                                       # what readers check
//! name = "TraceEnds"
//! after = "TraceStart"                           # after this event ...
//! comes = "TraceEnd"                             # ... comes that one,
//! within = "10 ms"                               # optional: in this time,
//! by = "trace"                                   # optional: for each value of the parameter
//! doc = "No trace takes longer"
//!
//! [[allow]]                                      # allows one change since the last release
//! change = "param-retyped"                       # its rule: [`version::Rule`]
//! event = "TraceStart"                           # what changes: event, param of an event, kind,
//! param = "condemned"                            # type, value of a type, span, or message
//! reason = "no stream has it yet"
//! # "#;
//! # let registry = telemetry_schema::parse(text).unwrap();
//! # assert_eq!(registry.events.len(), 4);
//! ```
//!
//! No event is in two messages. See [`Message`].
//!
//! Defaults: `clock` is `precise`, `flags` false, `always` and `used` true, and `params` empty.
//! `unit`, `max`, `align`, `since` and the docs of types, values and parameters are optional. Types
//! of parameters ([`Sort`]) have long names, and some have the letter of the MPS. Arrays have
//! elements of any type except strings and bytes. An event's parameters take at most 32 KiB
//! ([`limits`]).
//!
//! A parameter that is appended to a released event needs `since`, the version in which it was
//! appended. So decoders know that older streams lack it. All parameters after it need `since` too.
//! Once the major version rises, no stream is older, and `since` is left out.
//!
//! `replay` is a mark for replayers ([`Replay`]). The action is `alloc`, `free`, `realloc` or
//! `custom`; the other keys name parameters. `alloc` needs `pointer` and `size`, `free` needs
//! `pointer`, and `realloc` needs `old`, `pointer` and `size`. `alloc` and `realloc` may have
//! `align`, and `free` may have `size`. Pointers have the type `pointer` or `addr`. The others have
//! the type `word` or an unsigned integer, in bytes.
//!
//! `range` is a mark for tools that say what memory was, and when ([`Range`]). The key `begin`,
//! `end` or `move` says what is in the range; the other keys name parameters. `begin` needs `base`
//! and `size`, or `base` and `limit`; or a `key` alone, of a thing without memory. It may have
//! `key` and `owner`. `end` needs `base` or `key`. `move` needs `from` and `base`, or `moves`.
//!
//! `limit` and `sample` are about the program: an event is not always recorded ([`Limit`]). What
//! is left out is counted.
//!
//! `census` is a mark for tools that show how much there is of each class ([`Census`]). The key
//! `begin`, `row` or `end` says what is counted. A `row` has a `class` and a `value`.
//!
//! `tracing = { target = "gc", name = "collect" }` is a mark for programs in Rust ([`Tracing`]).
//! The layer of `telemetry-tracing` makes the event from that span or event of the crate `tracing`.
//! With `at = "close"` it is made when the span ends. Each parameter takes the field of its name,
//! so there are no arrays and no bytes.
//!
//! `names` is a mark for tools that show pointers, addresses and labels. The value of the parameter
//! is the name of the value of the other parameter. The name is a `string`, a number whose string
//! another event gives, or a pointer or address that has the name.
//!
//! - A `label` stands for its string everywhere in the session. A `word` or an unsigned integer
//!   does so only where marks of the same registry have parameters of its name.
//! - A name that is a string, or the name of something else, holds from the beginning of the
//!   session. A name that is a number holds from its event on. Each holds until the next name.
//! - If a registry names both pointers and addresses, they have separate names
//!   ([`Registry::names_apart`]). Otherwise they share their names.
//!
//! `numbers` says which numbers a parameter's values are, if they are to be shown with their
//! strings. Without it, they are those of all parameters of its name ([`Param::number_space`]).
//! `time` names the parameter with the clock reading of the time that the event tells of. In order
//! of time, the event has that place.
//!
//! Kinds, types and events share one namespace, without regard to case. Names are not keywords of
//! Rust or Python, because generated code uses them unchanged.
//!
//! The first line above makes editors with Taplo, such as VS Code's Even Better TOML, complete keys
//! and show mistakes while you type. Its path is relative to the file. [`JSON_SCHEMA`] is the text
//! of that schema.

mod check;
mod load;
mod model;
mod text;
pub mod version;

pub use telemetry_format::{Encoding, control, own};

pub use load::error::{LoadCause, LoadError};
pub use load::file::{load, load_from, load_lock, lock_path};
pub use model::census::{Census, CensusRole, CensusStep};
pub use model::counter::{Counter, CounterForm, CounterPer};
pub use model::limit::Limit;
pub use model::naming::{NameBy, Named, Naming};
pub use model::program::ProgramHead;
pub use model::range::{Range, RangeAction, RangeRole};
pub use model::registry::{
    Clock, Count, Event, Kind, Message, MessagePart, Param, Preset, Registry, Role, Span, Type, TypeForm,
    TypeValue, Version,
};
pub use model::replay::{Replay, ReplayAction, ReplayRole};
pub use model::rule::{EventRule, RuleForm};
pub use model::sensitive::{Network, Sensitive};
pub use model::slots::Slots;
pub use model::sort::Sort;
pub use model::tracing::{Tracing, TracingAt};
pub use text::diagnostic::{Diagnostic, Invalid, Label};
pub use text::snippet::is_unprintable;
pub use text::words::{RESERVED, is_python_keyword, nearest, nearest_within, snake_case};
pub use text::{keys, limits};
pub use version::registry_file::RegistryFile;

/// The JSON Schema (2020-12) of an `events.toml`: its form, and the meaning of its keys. Only
/// [`parse`] compares one part of the file with another.
pub const JSON_SCHEMA: &str = include_str!("../events.schema.json");

/// Reads and checks an `events.toml`.
///
/// Never panics, whatever the text.
///
/// # Errors
/// All mistakes in it, at once.
pub fn parse(text: &str) -> Result<Registry, Invalid> {
    check::registry::check(text, check::context::Origin::File).map(|(registry, _)| registry)
}

/// Reads a registry that was accepted before: one from a stream, or the runtime's own.
///
/// As [`parse`], except that additions and restrictions of later versions do no harm. Unknown keys
/// are skipped. Names may be keywords, reserved, or differ only in case. Spans may refer to retired
/// events. Messages, `replay`, `names` and `since` may be invalid. So a reader can read a stream
/// whose registry is older or newer.
///
/// # Errors
/// As [`parse`].
pub fn parse_embedded(text: &str) -> Result<Registry, Invalid> {
    check::registry::check(text, check::context::Origin::Embedded).map(|(registry, _)| registry)
}
