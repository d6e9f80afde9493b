#[telemetry::telemetry_event("relations")]
pub mod events {}

fn main() {}
