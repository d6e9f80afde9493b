use telemetry::telemetry_event;

#[telemetry_event("registries/many.toml")]
pub mod events {}

use events::{Access, Why, mapped};

fn main() {
    let page = &0_u8;
    // Right, with a number that is written out and one that is converted.
    mapped!(page, 8_u64, "", true, Why::Full, Access::Read, 1.0, &[1, 2], 3_u8.into());
    mapped!(page, 8_u64, "", 1, Why::Full, Access::Read, 1.0, &[1, 2], 3);
    mapped!(page, 8_u64, "", true, 1, Access::Read, 1.0, &[1, 2], 3);
    mapped!(page, 8_u64, "", true, Why::Full, 3, 1.0, &[1, 2], 3);
    mapped!(page, 8_u64, "", true, Why::Full, Access::Read, 1, &[1, 2], 3);
    mapped!(page, 8_u64, "", true, Why::Full, Access::Read, 1.0, &[1, 2, 3], 3);
    mapped!(page, 8_u64, "", true, Why::Full, Access::Read, 1.0, &[1, 2], 3_u64);
    events::freed!(3);
}
