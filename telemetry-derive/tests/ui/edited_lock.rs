use telemetry::telemetry_event;

#[telemetry_event("registries/edited_lock.toml")]
pub mod events {}

fn main() {
    events::grown!(1_usize);
}
