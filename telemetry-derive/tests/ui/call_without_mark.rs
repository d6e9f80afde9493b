use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
pub mod events {}

use events::ticked;

fn main() {
    events::moved(&[1, 2], &[0_u64]);
    ticked();
}
