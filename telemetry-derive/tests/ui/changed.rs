use telemetry::telemetry_event;

#[telemetry_event("relations/changed.toml")]
pub mod events {}

fn main() {
    // The relation is not released like this, but its emitters are there.
    events::grown!(1);
    events::shrunk!();
}
