//! The meaning of a telemetry relation.
//!
//! [`parse`] turns the text of an `events.toml` into a checked [`Registry`], or into everything
//! that is wrong with it. The macro, the generators, the decoders and the tools all call it.
//! [`version`] compares it with what was released. There is no I/O but [`load`] and [`load_lock`], and
//! nothing here knows a target language.
//!
//! # events.toml
//!
//! ```
//! # let text = r#"
//! #:schema ./telemetry-schema/events.schema.json
//! [registry]
//! name = "gc"                                    # snake_case
//! version = { major = 1, median = 0, minor = 1 }
//! doc = "A small collector's view of itself"
//!
//! [kinds]                                        # up to 64, each with its own bit
//! Trace = { bit = 2, doc = "per trace or scan" }
//! Ref = { bit = 4, doc = "per reference or fix", clock = "inherit" }   # or "precise"
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
//!   { name = "why", sort = "TraceWhy" },
//!   { name = "condemned", sort = "word", unit = "bytes" },
//!   { name = "object", sort = "pointer", align = 16 },    # its values are multiples of that: fewer bytes
//!   { name = "comment", sort = "string", max = 80 },        # bytes; default 1024
//!   { name = "stack", sort = "[pointer]", max = 16 },       # elements; default 64
//!   { name = "ranks", sort = "[u32; 4]" },
//!   { name = "pause", sort = "u64", unit = "ns", since = "1.0.1" },   # appended in that version
//! ]
//!
//! [[event]]                                      # a replayer does such an event again
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
//! doc = "A pool is called so"
//! params = [
//!   { name = "pool", sort = "P" },
//!   { name = "called", sort = "string", names = "pool" },   # what `pool` holds is called so
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
//! doc = "One trace from start to end"
//!
//! [[message]]                                     # what the program itself may hear
//! name = "Gc"
//! begin = "TraceStart"
//! end = "TraceEnd"                               # without one it stands alone
//! key = "trace"                                  # without one, a pair at a time, in one thread
//! limit = 4                                      # how many may run at once, with a key; default 8
//! doc = "The collector at work"
//!
//! [[allow]]                                      # excuses one change since the last release
//! change = "param-retyped"                       # its rule: [`version::Rule`]
//! event = "TraceStart"                           # what changes: event, param of an event, kind,
//! param = "condemned"                            # type, value of a type, span, or message
//! reason = "no stream has it yet"
//! # "#;
//! # let registry = telemetry_schema::parse(text).unwrap();
//! # assert_eq!(registry.events.len(), 4);
//! ```
//!
//! A message is of the kind that [`Message`] describes: no event is in two of them.
//!
//! Left out, `clock` is `precise`, `flags` false, `always` and `used` true, `params` empty; `unit`,
//! `max`, `align`, `since` and the docs of types, values and parameters may be left out too. Sorts ([`Sort`]) have
//! long names and, some of them, the letters of the MPS. Arrays are of any sort but strings and
//! bytes. An event's parameters take at most 32 KiB ([`limits`]).
//!
//! A parameter that is appended to an event that streams in the world already have says `since` which
//! version, so that decoders know that older streams are without it; so do all parameters behind
//! it. Once the major rises no stream is older, and `since` is left out.
//!
//! What `replay` says is for replayers ([`Replay`]): the action is `alloc`, `free`, `realloc` or
//! `custom`, and the other keys name the parameters that say with what. `alloc` needs `pointer` and
//! `size`, `free` `pointer`, `realloc` `old`, `pointer` and `size`; the first and the last may have
//! `align`, and `free` `size`. Pointers are of sort `pointer` or `addr`, the others `word` or unsigned
//! integers, in bytes.
//!
//! What `names` says is for whatever shows pointers, addresses and labels: the value of the parameter is the name of
//! what the other parameter of the event holds. The name is a `string`, a number that another event says the
//! string of, or a pointer or address that is called so. A `label` stands for its string everywhere in the session, a
//! `word` or an unsigned integer only where marks of the same relation have parameters of its name. What is a string, or is called as something
//! else, is called so from the beginning on, what is a number from its event on; each until it gets another name.
//! Where a relation names pointers and addresses, they have names apart, else what the one is called, the other
//! is called ([`Registry::names_apart`]).
//!
//! Kinds, types and events share one namespace, whatever the case of their letters. Names are no
//! keywords of Rust or Python, since they stand in generated code as they are.
//!
//! The first line above makes editors with Taplo (such as VS Code's Even Better TOML) complete keys
//! and show mistakes of form while typing; the path is relative to the file. [`JSON_SCHEMA`] is that
//! file's text.

mod canonical;
mod check;
mod diagnostic;
mod emitters;
pub mod keys;
pub mod limits;
mod load;
mod model;
mod naming;
mod replay;
mod size;
mod slots;
mod snippet;
mod sort;
mod syntax;
pub mod version;
mod words;

pub use diagnostic::{Diagnostic, Invalid, Label};
pub use load::{LoadCause, LoadError, Relation, load, load_from, load_lock, lock_path};
pub use model::*;
pub use naming::{NameBy, Named, Naming};
pub use replay::{Replay, ReplayAction, ReplayRole};
pub use slots::Slots;
pub use sort::Sort;
pub use words::{RESERVED, is_python_keyword, snake_case};

/// The JSON Schema (2020-12) of an `events.toml`: its form and what its keys mean. What compares one
/// part of the file with another is for [`parse`] alone.
pub const JSON_SCHEMA: &str = include_str!("../events.schema.json");

/// Reads and checks an `events.toml`.
///
/// Never panics, whatever the text.
///
/// # Errors
/// Everything that is wrong with it, at once.
pub fn parse(text: &str) -> Result<Registry, Invalid> {
    check::check(text, check::Origin::File).map(|(registry, _)| registry)
}

/// Reads a registry that was accepted before: one that comes out of a stream, or the framework's own.
///
/// As [`parse`], except that what a later version may have added or come to refuse does no harm:
/// unknown keys are passed over, names may be keywords or reserved or differ only in case, spans may
/// be of retired events, messages, `replay`, `names` and `since` any version or anything else. So a stream can be read whose registry is older or newer than the
/// reader.
///
/// # Errors
/// As [`parse`].
pub fn parse_embedded(text: &str) -> Result<Registry, Invalid> {
    check::check(text, check::Origin::Embedded).map(|(registry, _)| registry)
}
