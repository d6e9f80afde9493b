use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
pub mod events;

fn main() {
    events::ticked!();
}
