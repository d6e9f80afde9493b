mod outer {
    #[telemetry::telemetry_event("relations/good.toml", at = "inner::events")]
    pub mod events {}
}

fn main() {}
