use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
pub mod events {}

use events::{Which, Why};

struct Size(u64);

fn main() {
    events::grown!(0_u64, 0_u64, 1_u64, Why::Full, "");
    events::grown!(0_u64, 0_u64, 1, Which::This, "");
    events::grown!(0_u64, 0_u64, 1, Why::Empty, "");
    events::grown!(0_u64, 0_u64, 1, 1, String::new());
    events::grown!(Size(0), 0_u64, 1, Why::Full, "");
    events::grown!("text", Size(1), 1, Why::Full, "");
    events::grown!(0_u64, -1_i64, 1, Why::Full, "");
    events::moved!(&[1, 2, 3], &[0_u64]);
    events::moved!([1, 2], &[0_u64]);
    events::moved!(&[1, 2], &[1.5, 2.5]);
}
