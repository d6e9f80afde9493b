use telemetry::telemetry_event;

#[telemetry_event("registries/changed.toml")]
pub mod events {}

fn main() {
    // The registry is not released like this, but its emitters are there.
    events::grown!(1);
    events::shrunk!();
}
