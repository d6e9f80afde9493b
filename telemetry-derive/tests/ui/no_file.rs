#[telemetry::telemetry_event("registries/nowhere.toml")]
pub mod events {}

fn main() {}
