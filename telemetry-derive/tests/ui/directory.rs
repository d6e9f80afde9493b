#[telemetry::telemetry_event("registries")]
pub mod events {}

fn main() {}
