#[telemetry::telemetry_event("registries/nowhere.toml", decode)]
pub mod events {}

use events::{Event, grown};

fn take(_: events::Why, _: &Event<'_>) {}

fn main() {
    // The file is missing, these uses are right.
    events::moved!(&[1, 2], &[0_u64]);
    grown!(1);
    take(events::Why::Full, &Event::Ticked(events::Ticked {}));
}
