#[telemetry::telemetry_event("beside_source.toml")]
pub mod events {}

fn main() {
    events::ticked!();
}
