mod outer {
    #[telemetry::telemetry_event("registries/good.toml", at = "inner::events")]
    pub mod events {}
}

fn main() {}
