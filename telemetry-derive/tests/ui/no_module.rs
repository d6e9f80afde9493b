use telemetry::telemetry_event;

#[telemetry_event("relations/good.toml")]
fn events() {}

#[telemetry_event("relations/good.toml")]
pub struct Events;

fn main() {}
