use std::sync::Arc;

use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
pub mod events {}

use events::{Why, grown, moved};

fn function() {}

fn main() {
    grown!(5_u32, 0_u64, 1, Why::Full, "");
    grown!(Some(&5), 0_u64, 1, Why::Full, "");
    grown!(function, 0_u64, 1, Why::Full, "");
    // The compiler would propose to dereference these.
    grown!(Box::new(5_u64), 0_u64, 1, Why::Full, "");
    grown!(Arc::new(5_u64), 0_u64, 1, Why::Full, "");
    moved!(&[1, 2], &[5_u32]);
    moved!(&[1, 2], &[Some(&5)]);
}
