//! The hot path of telemetry, and what carries events from it to a stream.
//!
//! Programs use this crate through the facade `telemetry` and the macros that
//! `#[telemetry_event]` makes. An emitter tests one bit; if it is set, [`__private::record`] packs
//! the event into the thread's block for the event's kind. Full blocks go to the drain, whose
//! thread writes them to the sink.

mod batch;
mod block;
mod clock;
mod control;
mod counters;
mod drain;
mod facts;
mod fields;
mod lane;
mod pool;
mod raw;
mod record;
mod refill;
mod registry;
mod sink;
mod start;
mod sync;
mod sys;
mod thread;
mod values;
mod variety;

pub use control::{get, reset, set};
pub use counters::{Counters, counters};
pub use drain::flush;
pub use registry::{EventName, Kind, Registry, Relation};
pub use start::{Config, filename};
pub use telemetry_format::Label;
pub use values::{Address, Word};
pub use variety::{VARIETY, Variety};

/// For generated code. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::fields::{
        Array, Byte, Bytes, Delta, Deltas, Double, Fields, Float, Signed16, Signed32, Signed64, Text,
        Unsigned16, Unsigned32, Unsigned64,
    };
    pub use crate::lane::{Lanes, Site, record, record_long};
    pub use crate::registry::{EventName, Kind, Registry, Relation};
    pub use crate::values::{Address, Word};
    pub use crate::variety::{is_at, is_on};
    pub use core;
    pub use core::sync::atomic::AtomicU64;
    pub use std;
    pub use telemetry_format::Label;
}
