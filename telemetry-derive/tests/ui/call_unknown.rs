use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
pub mod events {}

mod imports {
    use crate::events::gorwn;
}

mod glob {
    use crate::events::*;

    fn emit() {
        gorwn!(0_u64);
    }
}

fn main() {
    events::gorwn!(0_u64);
}
