use telemetry::telemetry_event;

#[telemetry_event("registries/no_toml.toml")]
pub mod events {}

fn main() {
    events::grown!();
}
