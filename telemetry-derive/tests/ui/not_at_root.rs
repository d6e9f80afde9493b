mod outer {
    #[telemetry::telemetry_event("registries/good.toml")]
    pub mod events {}
}

fn main() {
    outer::events::grown!(0_u64, 0_u64, 0, outer::events::Why::Full, "");
}
