use telemetry::telemetry_event;

#[telemetry_event("registries/two_mistakes.toml")]
pub mod events {}

use events::{Why, grown};

fn main() {
    // The registry is wrong, these are not.
    events::grown!(1);
    grown!(2_u64);
    events::moved!();
    let _ = Why::Full;
}
