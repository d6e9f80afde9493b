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
//! # Control
//!
//! Nothing is on until [`set`], [`Config`] or the environment says so:
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `TELEMETRY_CONTROL` | what is on, in the words of [`set`] | nothing |
//! | `TELEMETRY_FILENAME` | the file for the stream | `telemetry.tel` |
//! | `TELEMETRY_BUFFER` | bytes of memory for blocks (`64k`, `16M`) | `16M` |
//! | `TELEMETRY_LATENCY` | seconds that an event may stay in memory | `1` |
//!
//! and, when the program is *built*, `TELEMETRY_VARIETY`: `cool` has all events, `hot` only those
//! with `always = true`, `rash` none.

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
