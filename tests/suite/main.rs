//! The macro and the runtime, tested by real programs: their streams are decoded, and their
//! assembly is read. Nothing is a mock, so the tests run where the system has what they need.
#![cfg(target_os = "linux")]

mod support;

mod attach;
mod broken;
mod cdylib;
mod clients;
mod control;
mod counters;
mod datagrams;
mod debugger;
mod endings;
mod ends;
#[cfg(unix)]
mod evolution;
mod exit_line;
mod facts;
mod fatal;
mod flight;
mod footprint;
mod fork;
mod idle;
mod labels;
mod latency;
mod limits;
mod locks;
mod loss;
mod marks;
mod messages;
mod outputs;
mod own;
mod packages;
mod planted;
mod privileged;
mod ring;
mod sampling;
mod sensitive;
mod settings;
mod signals;
mod sinks;
mod soak;
mod stacks;
#[cfg(unix)]
mod starter;
mod traceback;
mod triggers;
mod usual;
mod values;
mod varieties;
mod wall_clock;

use telemetry::telemetry_event;

/// The registry of all events that are counted.
#[telemetry_event("tests/registries/work.toml")]
pub mod work {}

/// Another registry in the same process.
#[telemetry_event("tests/registries/second.toml")]
pub mod second {}

/// Every parameter type, from C too.
#[telemetry_event("tests/registries/sorts.toml", c, decode)]
pub mod sorts {}

/// Events with labels.
#[telemetry_event("tests/registries/labels.toml")]
pub mod labeled {}

/// Many kinds, so each thread has many lanes.
#[telemetry_event("tests/registries/kinds.toml")]
pub mod kinds {}

/// Events with messages.
#[telemetry_event("tests/registries/heard.toml")]
pub mod heard {}

/// Events with limits.
#[telemetry_event("tests/registries/limits.toml", c)]
pub mod limited {}

/// Counters and gauges.
#[telemetry_event("tests/registries/counters.toml", c)]
pub mod counted {}

/// Events whose parameters have usual lengths.
#[telemetry_event("tests/registries/usual.toml")]
pub mod hinted {}

/// Events of which some are about a person.
#[telemetry_event("tests/registries/private.toml")]
pub mod private {}

/// Events with a rule about two of different kinds.
#[telemetry_event("tests/registries/asked.toml")]
pub mod asked {}

/// Labels about a person.
#[telemetry_event("tests/registries/shop.toml")]
pub mod shop {}
