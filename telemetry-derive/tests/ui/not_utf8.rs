#[telemetry::telemetry_event("registries/not_utf8.toml")]
pub mod events {}

mod inner {
    use crate::events::{self, Why, grown};

    pub fn emit(why: Why) {
        events::moved!(&[1, 2], &[0_u64]);
        grown!(why);
    }
}

fn main() {
    inner::emit(events::Why::Full);
}
