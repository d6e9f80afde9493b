//! The hot path of telemetry, and the drain that writes its events to a stream.
//!
//! Programs use this crate through the facade `telemetry` and the macros that `#[telemetry_event]`
//! makes. An emitter tests one bit. If the bit is set, [`__private::record`] packs the event into
//! the thread's block for the event's kind. Full blocks go to the drain, whose thread writes them
//! to the sinks.

mod control;
mod count;
mod drain;
mod emit;
mod memory;
mod messages;
mod model;
mod own;
mod postmortem;
mod process;
mod run;
pub mod sinks;
#[cfg_attr(any(not(unix), miri), path = "socket/absent.rs")]
mod socket;
mod store;
mod sync;
mod sys;
mod triggers;

pub use count::counter::{Counter, Gauge};
pub use drain::config::{Config, output};
pub use drain::passes::{
    SinkId, add_sink, add_sink_for, flush, remove_sink, sink_counters, snapshot, snapshot_to,
};
pub use memory::registry::Registry;
pub use messages::message_memory;
pub use model::posted::Posted;
pub use model::values::{Address, Word};
pub use model::variety::{VARIETY, Variety};
pub use own::labels::{intern, label};
pub use own::marks::mark;
pub use own::requests::{RequestError, on_request};
pub use own::switches::{
    enabled, enabled_record, get, get_record, reset, reset_record, set, set_for, set_record,
};
pub use postmortem::panic::flush_on_panic;
pub use postmortem::traceback::Traceback;
pub use process::start::AlreadyStarted;
pub use run::state::Policy;
pub use sinks::sink::{Batch, Sink, Start};
pub use store::counters::{Counters, KindCounters, SinkCounters, counters, kind_counters};
pub use telemetry_format::Label;
pub use triggers::list::{TriggerError, TriggerId, add as add_trigger, remove as remove_trigger};

/// Compiles items only with the feature `async`.
#[cfg(feature = "async")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_async {
    ($($items:tt)*) => { $($items)* };
}

/// Compiles items only with the feature `async`.
#[cfg(not(feature = "async"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_async {
    ($($items:tt)*) => {};
}

/// For generated code. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::emit::lane::{Lanes, Site};
    pub use crate::emit::record::{record, record_long};
    pub use crate::emit::scope::{OnThread, Scope};
    pub use crate::emit::spare::{Spare, spare, take_spare};
    pub use crate::memory::registry::{Registry, know};
    pub use crate::model::arguments::{AddressFor, Borrows, Locates, Takes, WordFor};
    pub use crate::model::fields::{
        Array, Byte, Bytes, Delta, Deltas, Double, Fields, Float, Signed16, Signed32, Signed64, Text,
        Unsigned16, Unsigned32, Unsigned64,
    };
    pub use crate::model::flags::debug as debug_flags;
    pub use crate::model::given::{Given, array, bytes, converted, list, text};
    pub use crate::model::registry_def::{EventInfo, Kind, ParamInfo, Preset, RegistryDef, Sort, TypeInfo};
    pub use crate::model::usual::Usual;
    pub use crate::model::values::{Address, Word};
    /// The parts of counters.
    pub mod counting {
        pub use crate::count::cells::Local;
        pub use crate::count::counter::{Counted, Counter, Gauge};
        pub use crate::model::counter_def::CounterDef;
    }
    /// The parts of limits.
    pub mod limits {
        pub use crate::count::limit::{Credits, Key, Rate, admits, admits_after, is_next, keeps, leave_out};
        pub use crate::model::limit_def::LimitDef;
        pub use crate::own::registry::left_out;
    }
    pub use crate::model::variety::{is_compiled, is_on, is_same, switches};
    pub use crate::own::labels::{intern, interned};
    pub use crate::own::marks::mark_as;
    pub use crate::own::stacks::{stack, stack_at};
    pub use crate::{
        called, censuses, emitters, emitters_in_editor, probe, scopes, scopes_in_editor, with_async,
    };
    pub use core;
    pub use core::sync::atomic::{AtomicU8, AtomicU64};
    pub use std;
    pub use telemetry_format::{Encoding, Label};

    /// The parts of `telemetry::testing`.
    #[cfg(feature = "testing")]
    pub mod testing {
        pub use crate::count::limit::without_limits;
        pub use crate::emit::position::{LanePosition, Numbers};
        pub use crate::emit::thread::{each_position, watch};
        pub use crate::run::state::Policy;
        pub use crate::sys::spawned::{Beginning, at_spawn};
        pub use telemetry_format::{BlockType, Grouped, Header, Loss, flags, own};

        /// Returns what happens to events while the pool is full.
        pub fn policy() -> Policy {
            crate::run::state::policy()
        }

        /// Sets what happens to events while the pool is full.
        pub fn set_policy(policy: Policy) {
            crate::run::state::set_policy(policy);
        }

        /// Returns the losses without a lane.
        pub fn strays() -> Loss {
            crate::store::counters::strays()
        }

        /// Decodes the header of a block that a sink was given.
        pub fn header(bytes: &[u8]) -> Option<Header> {
            Header::decode(bytes, crc32c::crc32c).ok()
        }
    }

    /// Events that spans and events of the crate `tracing` become.
    pub mod mapped {
        pub use crate::model::mapped::{Emit, Mapping, Value, boolean, float, integer, text};
    }

    /// The parts of messages.
    pub mod messages {
        pub use crate::messages::{Channel, Either};
        pub use crate::model::channel::{AnyChannel, Form};
        pub use crate::model::message_values::{Bytes, List, Text, Value, Valued, Values};
        pub use crate::model::posted::Posted;
    }
}
