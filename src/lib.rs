//! Binary event telemetry from one relation.
//!
//! `events.toml` says what a program can report. [`telemetry_event`] makes of it a macro for every
//! event, which costs a test of one bit while the event is off and a clock reading and a few
//! nanoseconds while it is on:
//!
//! ```no_run
//! use telemetry::telemetry_event;
//!
//! #[telemetry_event("events.toml")]
//! pub mod events {}
//!
//! fn main() {
//!     telemetry::set("all");
//!     let trace = Box::new(0);
//!     events::trace_end!(&*trace, 4096usize, 1024usize, 8192usize);
//! }
//! ```
//!
//! What is on goes to a stream, `telemetry.tel`, that carries its own relation, survives a crash up
//! to its last whole block, and says what it lost. The command `telemetry` and the crate
//! `telemetry-decode` (here as `decode`, with the feature of that name) read it.
//!
//! The guide to all that stands below is `docs/runtime.md` in the repository.
//!
//! # Control
//!
//! Nothing is on until [`set`], [`Config`] or the environment says so. An event is *output*, to a file or
//! any other sink ([`set`], [`reset`], [`get`]), or only *recorded*, for the flight recorder
//! ([`set_record`], [`reset_record`], [`get_record`]). All take the same words, and the environment has
//! the last one:
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `TELEMETRY_CONTROL` | what is output, in the words of [`set`] | nothing |
//! | `TELEMETRY_RECORD` | what is recorded even if it is not output | nothing |
//! | `TELEMETRY_FILENAME` | where the stream goes, an address of [`sinks::open`] | `telemetry.tel` |
//! | `TELEMETRY_BUFFER` | bytes of memory for blocks (`64k`, `16M`) | `16M` |
//! | `TELEMETRY_RING` | a file that this memory is a mapping of, for `telemetry recover` | none |
//!
//! and when the program is *built*, `TELEMETRY_VARIETY`: `cool` has all events, `hot` only those
//! with `always = true`, `rash` none. [`Config`] has the variables that are not in this table.
//!
//! A process that has recorded anything can be asked and switched by `telemetry list`, `control` and
//! `tail`.
//!
//! # The flight recorder, and what is left of a program
//!
//! Events that are recorded and not output stay in memory until the room is needed, those of rare kinds
//! longest. [`snapshot`] writes them, and all else that is in memory, as a stream; [`Traceback`] shows the
//! last ones as text, on request ([`Config::traceback`]) whenever a thread panics. With [`Config::ring`]
//! they outlive even a `SIGKILL`. Debuggers and C have functions of their own: `include/telemetry.h` of
//! the crate `telemetry-runtime`.
//!
//! # Sinks
//!
//! [`sinks`] has files, rotating files, pipes, sockets and memory; [`add_sink`] adds further ones, each with
//! its own kinds. Your own is a type with one method, see [`Sink`].
//!
//! # Loss
//!
//! Nothing is lost silently: of all events that were on when their emitters were called,
//! `emitted = written + held + recycled + lost`, in [`counters`], by kind in [`kind_counters`], and in the
//! stream, with thread, kind and time. [`Policy`] says what becomes of an event when there is no memory.
//!
//! # Labels
//!
//! A parameter of sort `label` takes the number of a string in place of the string, which is in the stream
//! once: [`intern`](fn@intern) and [`intern!`] give it. [`label`] names an address. Both may be called at any
//! time, whether or not anything is on: every stream begins with all labels so far.
//!
//! ```
//! let nursery = telemetry::intern!("nursery");
//! let space = Box::new([0u8; 64]);
//! telemetry::label(&*space, nursery);
//! ```

pub use telemetry_derive::telemetry_event;
pub use telemetry_runtime::*;

/// Streams to events.
#[cfg(feature = "decode")]
#[doc(inline)]
pub use telemetry_decode as decode;

/// For generated code. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use telemetry_runtime::__private::*;
}

/// Has the code of these texts compiled and run as tests.
#[cfg(doctest)]
mod texts {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/runtime.md")]
    struct Runtime;
}
