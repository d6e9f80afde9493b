//! A shared library with a relation and a runtime of its own.

use telemetry::telemetry_event;

#[telemetry_event("events.toml")]
pub mod events {}

/// Tells that a key was found.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_look_up(key: u64) {
    events::hit!(key);
}
