use telemetry::telemetry_event;

#[telemetry_event("relations/good.toml")]
pub mod events {}

fn main() {
    events::shrunk!();
}
