use telemetry::telemetry_event;

#[telemetry_event("relations/two_mistakes.toml")]
pub mod events {}

use events::grown;

fn main() {
    // The relation is wrong, these are not.
    events::grown!(1);
    grown!(2_u64);
    events::moved!();
}
