use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
pub mod events {}

fn main() {
    // A number without a type is an `i32`.
    events::grown!(0, 1, 2, events::Why::Full, "");
}
