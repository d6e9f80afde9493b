use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
pub mod events {}

mod private {
    #[telemetry::telemetry_event("registries/good.toml", at = "exported")]
    pub mod exported {}
}
pub use private::exported;

use events::{Why, ticked};

fn main() {
    events::grown!();
    events::grown!(0_u64, 0_u64, 0, Why::Full);
    events::grown!(0_u64, 0_u64, 0, Why::Full, "", 1);
    events::grown!(0_u64, 0, Why::Full, "",);
    events::moved!(&[1, 2],);
    ticked!(1);
    exported::ticked!((1, 2), 3);
    let _ = || events::grown! { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
}
