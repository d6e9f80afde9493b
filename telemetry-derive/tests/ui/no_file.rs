#[telemetry::telemetry_event("relations/nowhere.toml")]
pub mod events {}

fn main() {}
