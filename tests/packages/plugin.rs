//! A shared library with its own registry and runtime.

use telemetry::telemetry_event;

#[telemetry_event("events.toml")]
pub mod events {}

/// Emits that a key was found.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_look_up(key: u64) {
    events::hit!(key);
}
