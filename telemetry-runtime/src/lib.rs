//! The hot path of telemetry, and what carries events from it to a stream.
//!
//! Programs use this crate through the facade `telemetry` and the macros that
//! `#[telemetry_event]` makes. An emitter tests one bit; if it is set, [`__private::record`] packs
//! the event into the thread's block for the event's kind. Full blocks go to the drain, whose
//! thread writes them to the sink.

mod bell;
mod block;
mod clock;
mod control;
mod counters;
mod debugger;
mod drain;
mod facts;
mod fields;
mod fork;
mod image;
mod labels;
mod lane;
mod list;
mod messages;
mod open;
mod output;
mod outputs;
mod own;
mod pages;
mod panic;
mod pool;
mod progress;
mod publish;
mod raw;
mod raw_file;
mod record;
mod refill;
mod registry;
mod relation;
mod sink;
pub mod sinks;
#[cfg_attr(any(not(unix), miri), path = "socket/absent.rs")]
mod socket;
mod sorter;
mod source;
mod spin;
mod start;
mod status;
mod store;
mod sync;
mod sys;
mod text;
mod thread;
mod told;
mod traceback;
mod values;
mod variety;
mod words;

pub use control::{get, get_record, reset, reset_record, set, set_record};
pub use counters::{Counters, KindCounters, SinkCounters, counters, kind_counters};
pub use drain::{SinkId, add_sink, flush, remove_sink, sink_counters, snapshot, snapshot_to};
pub use labels::{intern, label};
pub use messages::{Posted, message_memory};
pub use panic::flush_on_panic;
pub use registry::Registry;
pub use relation::{EventInfo, Kind, ParamInfo, Relation, Sort, TypeInfo};
pub use sink::{Blocks, Sink};
pub use start::{Config, Policy, filename};
pub use telemetry_format::Label;
pub use traceback::Traceback;
pub use values::{Address, Word};
pub use variety::{VARIETY, Variety};

/// What there is with the feature `async` only.
#[cfg(feature = "async")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_async {
    ($($items:tt)*) => { $($items)* };
}

/// What there is with the feature `async` only.
#[cfg(not(feature = "async"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_async {
    ($($items:tt)*) => {};
}

/// For generated code. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::fields::{
        Array, Byte, Bytes, Delta, Deltas, Double, Fields, Float, Signed16, Signed32, Signed64, Text,
        Unsigned16, Unsigned32, Unsigned64,
    };
    pub use crate::labels::interned;
    pub use crate::lane::{Lanes, Site, record, record_long};
    pub use crate::registry::Registry;
    pub use crate::relation::{EventInfo, Kind, ParamInfo, Relation, Sort, TypeInfo};
    pub use crate::values::{Address, Word};
    pub use crate::variety::{is_at, is_compiled, is_on};
    pub use crate::with_async;
    pub use core;
    pub use core::sync::atomic::{AtomicU8, AtomicU64};
    pub use std;
    pub use telemetry_format::Label;

    /// What messages are made of.
    pub mod messages {
        pub use crate::messages::{
            AnyChannel, Bytes, Channel, Either, Form, List, Posted, Text, Value, Valued, Values,
        };
    }
}
