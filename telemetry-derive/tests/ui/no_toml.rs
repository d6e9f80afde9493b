use telemetry::telemetry_event;

#[telemetry_event("relations/no_toml.toml")]
pub mod events {}

fn main() {
    events::grown!();
}
