use telemetry::telemetry_event;

#[telemetry_event("registries/messages.toml")]
pub mod events {}

fn main() {
    // The messages are wrong, this is not.
    events::trace_start!(1_u64, "full");
}
