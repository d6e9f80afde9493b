#[telemetry::telemetry_event("registries/good.toml")]
pub mod events {}

mod other {
    #[telemetry::telemetry_event("registries/good.toml")]
    pub mod events {}
}

fn main() {}
