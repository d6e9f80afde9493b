#[telemetry::telemetry_event("/etc/events.toml")]
pub mod events {}

fn main() {}
