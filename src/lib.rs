//! Binary event telemetry from one registry.
//!
//! `events.toml` lists what a program can report. [`telemetry_event`] turns it into one macro per
//! event. While an event is off, its macro tests one bit. While it is on, the macro reads a clock
//! and takes a few nanoseconds:
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
//! Events go to a stream, `telemetry.tel`, which contains its registry. After a crash it can be
//! read up to its last complete block, and it states what it lost. The command `telemetry` and the
//! crate `telemetry-decode` (here as `decode`, with the feature of that name) read it.
//!
//! `docs/runtime.md` in the repository is the guide to all of this.
//!
//! # Features
//!
//! None is on by default, and features only add.
//!
//! - `decode`: the crate `telemetry-decode` as `decode`, and typed events from
//!   `#[telemetry_event("events.toml", decode)]`.
//! - `async`: wait for messages in tasks of any executor.
//! - `serde`: with `decode`, `serde::Serialize` for events, typed ones too.
//! - `testing`: tests of the events that a program emits, in the module of that name. It is for
//!   `[dev-dependencies]`.
//!
//! # Control
//!
//! Nothing is on until [`set`], [`Config`] or the environment switches it on. An event is *output*
//! if it goes to a file or to any other sink ([`control`]). An event may also be only *recorded*,
//! for the flight recorder ([`recorder`]). Both take the same words. The environment overrides the
//! program:
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `TELEMETRY_CONTROL` | what is output, in the words of [`set`] | nothing |
//! | `TELEMETRY_RECORD` | what is recorded even if it is not output | nothing |
//! | `TELEMETRY_FILENAME` | where the stream goes: see [`sinks::open`] | `telemetry.tel` |
//! | `TELEMETRY_BUFFER` | bytes of memory for blocks (`64k`, `16M`) | `16M` |
//! | `TELEMETRY_RING` | a file that this memory is a mapping of, for `telemetry recover` | none |
//!
//! When the program is *built*, `TELEMETRY_VARIETY` selects its events: `cool` all, `hot` those
//! with `always = true`, `rash` none. [`Config`] lists the other variables.
//!
//! `telemetry list`, `control` and `tail` find a process as soon as it reaches its first emitter,
//! and switch its events.
//!
//! # Flight recorder and post-mortem
//!
//! Recorded events that no sink takes stay in memory until the space is needed, those of rare kinds
//! longest. [`recorder::snapshot`] writes them, and everything else in memory, as a stream.
//! [`recorder::Traceback`] shows the last ones as text, also whenever a thread panics
//! ([`Config::traceback`]). With [`Config::ring`] they survive even a `SIGKILL`. Debuggers and C
//! have functions of their own: `include/telemetry.h` of the crate `telemetry-runtime`.
//!
//! # Sinks
//!
//! [`sinks`] has files, rotating files, pipes, sockets and memory. [`sinks::add`] adds further
//! ones, each with its own kinds. A sink of your own implements one method, see [`sinks::Sink`].
//!
//! # Loss
//!
//! Every lost event is counted. Of all events that were on when their emitters were called,
//! `emitted = written + retained + evicted + lost`. [`counters`] has these numbers in total and by
//! kind. The stream has the losses with thread, kind and time. [`Policy`] selects what happens to
//! an event if there is no memory.
//!
//! # Labels
//!
//! A parameter of the type `label` takes the number of a string instead of the string, which is in
//! the stream once. [`intern`](fn@intern) and [`intern!`] return it. [`label`] names an address.
//! Both may be called at any time, whether or not anything is on: every stream begins with all
//! labels so far.
//!
//! ```
//! let nursery = telemetry::intern!("nursery");
//! let space = Box::new([0u8; 64]);
//! telemetry::label(&*space, nursery);
//! ```
//!
//! # Marks
//!
//! [`mark!`] and [`mark`](fn@mark) name a moment of the run. Every tool shows it, and pictures draw
//! it as a line with its text:
//!
//! ```
//! telemetry::mark!("warm-up done");
//! ```

pub use telemetry_derive::{span, telemetry_event};
pub use telemetry_runtime::{
    Address, AlreadyStarted, Config, Label, Policy, VARIETY, Variety, Word, flush, get, intern, label, mark,
    reset, set,
};

/// Switches output on and off while the program runs.
///
/// ```
/// use telemetry::control;
///
/// control::set("Trace Pool"); // these kinds, too
/// control::reset("Pool");
/// println!("{}", control::enabled());
/// # control::reset("all");
/// ```
pub mod control {
    pub use telemetry_runtime::{RequestError, enabled, get, on_request, reset, set, set_for};
}

/// Triggers: what the runtime does when a condition is met. `docs/triggers.md` describes the texts.
///
/// ```no_run
/// use telemetry::trigger;
///
/// let big = trigger::add("Evict.size > 1M: snapshot big.tel")?;
/// trigger::remove(big);
/// # Ok::<(), trigger::TriggerError>(())
/// ```
pub mod trigger {
    pub use telemetry_runtime::{TriggerError, TriggerId, add_trigger as add, remove_trigger as remove};
}

/// The flight recorder: records events whether or not they are output, and shows them.
///
/// ```no_run
/// use telemetry::recorder;
///
/// recorder::set("all");
/// // Later, when something went wrong:
/// recorder::snapshot("now.tel")?;
/// println!("{}", recorder::Traceback::current_thread(20));
/// # Ok::<(), std::io::Error>(())
/// ```
pub mod recorder {
    pub use telemetry_runtime::{
        Traceback, enabled_record as enabled, flush_on_panic, get_record as get, reset_record as reset,
        set_record as set, snapshot, snapshot_to,
    };
}

/// The places that blocks go to.
///
/// ```no_run
/// use telemetry::sinks;
///
/// let trace = sinks::add_for("Trace", sinks::File::new("trace.tel"))?;
/// // The last events are written, and the file is closed:
/// sinks::remove(trace);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod sinks {
    pub use telemetry_runtime::sinks::{Datagram, File, Memory, Rotating, Socket, Writer, open};
    pub use telemetry_runtime::{
        Batch, Sink, SinkId, Start, add_sink as add, add_sink_for as add_for, output, remove_sink as remove,
    };
}

/// Counts where events went.
///
/// ```
/// use telemetry::counters;
///
/// let total = counters::total();
/// println!("{} written, {} lost", total.written, total.lost_pool + total.lost_sink);
/// ```
pub mod counters {
    pub use telemetry_runtime::{
        Counters, KindCounters, SinkCounters, counters as total, kind_counters as by_kind,
        sink_counters as by_sink,
    };
}

/// Strings that events carry by number, and names of addresses.
///
/// ```
/// use telemetry::labels;
///
/// let nursery = labels::intern("nursery");
/// let space = Box::new([0u8; 64]);
/// labels::label(&*space, nursery);
/// ```
pub mod labels {
    pub use telemetry_runtime::{Label, intern, label};
}

/// Events that the program itself waits for. `docs/messages.md` in the repository explains them.
///
/// ```
/// // No message is enabled.
/// assert_eq!(telemetry::messages::memory_used(), 0);
/// ```
pub mod messages {
    pub use telemetry_runtime::{Posted, message_memory as memory_used};
}

/// The registries of the program, and the types of their counters. `docs/counters.md` in the
/// repository explains counters.
pub mod registry {
    pub use telemetry_runtime::{Counter, Gauge, Registry};
}

/// Reads streams.
///
/// ```no_run
/// # #[cfg(feature = "decode")]
/// # fn main() -> telemetry::decode::Result<()> {
/// let mut events = telemetry::decode::Reader::open("telemetry.tel")?.events()?;
/// while let Some(event) = events.next()? {
///     println!("{} ns: {}", event.time_ns(), event.name());
/// }
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "decode"))]
/// # fn main() {}
/// ```
#[cfg(feature = "decode")]
#[doc(inline)]
pub use telemetry_decode as decode;

#[cfg(feature = "testing")]
pub mod testing;

/// For generated code. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use telemetry_runtime::__private::*;
}

/// Compiles and runs the code of these texts as tests.
#[cfg(doctest)]
mod texts {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/tutorial.md")]
    struct Tutorial;
    #[doc = include_str!("../docs/runtime.md")]
    struct Runtime;
    #[doc = include_str!("../docs/scopes.md")]
    struct Scopes;
    #[doc = include_str!("../docs/marks.md")]
    struct Marks;
    #[doc = include_str!("../docs/counters.md")]
    struct Counters;
    #[doc = include_str!("../docs/limits.md")]
    struct Limits;
    #[doc = include_str!("../docs/census.md")]
    struct Census;
    #[doc = include_str!("../docs/sampling.md")]
    struct Sampling;
    #[doc = include_str!("../docs/triggers.md")]
    struct Triggers;
    #[cfg(feature = "testing")]
    #[doc = include_str!("../docs/testing.md")]
    struct Testing;
    #[cfg(feature = "testing")]
    #[doc = include_str!("../docs/rules.md")]
    struct Rules;
}
