//! The macro and the runtime, proven by real programs: their streams are decoded, their assembly is
//! read. Nothing is a mock, so they run where the system has what they ask of it.
#![cfg(target_os = "linux")]

mod support;

mod cdylib;
mod control;
mod debugger;
mod ends;
#[cfg(unix)]
mod evolution;
mod facts;
mod flight;
mod footprint;
mod fork;
mod labels;
mod latency;
mod locks;
mod loss;
mod messages;
mod outputs;
mod own;
mod packages;
mod ring;
mod signals;
mod sinks;
mod soak;
mod traceback;
mod values;
mod varieties;

use telemetry::telemetry_event;

/// The relation of everything that is counted.
#[telemetry_event("tests/relations/work.toml")]
pub mod work {}

/// Another one in the same process.
#[telemetry_event("tests/relations/second.toml")]
pub mod second {}

/// Every sort.
#[telemetry_event("tests/relations/sorts.toml", decode)]
pub mod sorts {}

/// Events with labels.
#[telemetry_event("tests/relations/labels.toml")]
pub mod labeled {}

/// Events with messages.
#[telemetry_event("tests/relations/heard.toml")]
pub mod heard {}
