use telemetry::telemetry_event;

#[telemetry_event("registries/good.toml")]
pub mod events {}

fn main() {
    events::moved!(&[1, 2] &[0_u64]);
    events::moved!(pair: &[1, 2], roots: &[0_u64]);
    events::moved!(&[1, 2], );
    events::moved!(&[1, 2], +);
}
