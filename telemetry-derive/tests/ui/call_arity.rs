use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
pub mod events {}

use events::Why;

fn main() {
    events::grown!();
    events::grown!(0_u64, 0_u64, 0, Why::Full);
    events::grown!(0_u64, 0_u64, 0, Why::Full, "", 1);
    events::grown!(0_u64, 0, Why::Full, "");
}
