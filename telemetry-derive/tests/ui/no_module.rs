use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
fn events() {}

#[telemetry_event("registries/good.toml")]
pub struct Events;

fn main() {}
