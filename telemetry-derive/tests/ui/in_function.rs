fn main() {
    #[telemetry::telemetry_event("relations/good.toml")]
    mod events {}
    events::grown!(0_u64, 0_u64, 0, events::Why::Full, "");
}
