//! Captures of events in tests: which events belong to one, expectations, and messages.

use telemetry::telemetry_event;

mod expectations;
#[cfg(target_os = "linux")]
mod forks;
mod limits;
mod losses;
mod processes;
mod rules;
mod threads;

/// The events of the program under test.
#[telemetry_event("tests/registries/evictions.toml", decode)]
pub mod cache {}

/// A registry with rules.
#[telemetry_event("tests/registries/served.toml", decode)]
pub mod served {}

/// Events with limits.
#[telemetry_event("tests/registries/limits.toml", decode)]
pub mod limited {}

/// Another registry of the same program.
#[telemetry_event("tests/registries/work.toml", decode)]
pub mod work {}
