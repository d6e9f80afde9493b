#[telemetry::telemetry_event("relations/good.toml")]
pub mod events {}

mod other {
    #[telemetry::telemetry_event("relations/good.toml")]
    pub mod events {}
}

fn main() {}
