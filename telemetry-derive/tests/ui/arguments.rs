use telemetry::telemetry_event;

#[telemetry_event]
pub mod none {}

#[telemetry_event()]
pub mod empty {}

#[telemetry_event(registries)]
pub mod no_literal {}

#[telemetry_event("registries/good.toml", decoder)]
pub mod unknown {}

#[telemetry_event("registries/good.toml" decode)]
pub mod no_comma {}

#[telemetry_event("registries/good.toml", at)]
pub mod no_value {}

#[telemetry_event("registries/good.toml", at = "not a path")]
pub mod no_path {}

fn main() {
    none::ticked!();
    unknown::ticked!();
}
