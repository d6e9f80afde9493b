fn main() {
    #[telemetry::telemetry_event("registries/good.toml")]
    mod events {}
    events::grown!(0_u64, 0_u64, 0, events::Why::Full, "");
}
