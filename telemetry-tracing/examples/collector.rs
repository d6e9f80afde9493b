//! Spans and events of `tracing` that become events of a registry: the program of docs/tracing.md.

use tracing::{field, info, info_span};
use tracing_subscriber::prelude::*;

#[telemetry::telemetry_event("examples/collector.toml")]
pub mod events {}

fn collect(generation: u8) {
    let span = info_span!(target: "gc", "collect", generation, freed = field::Empty).entered();
    span.record("freed", 1000 << generation);
}

fn main() -> Result<(), telemetry_tracing::MappingError> {
    let layer = telemetry_tracing::layer_for(events::TRACING)?;
    tracing_subscriber::registry().with(layer).init();
    for generation in 0..3 {
        collect(generation);
    }
    info!(name: "grown", target: "gc", bytes = 65536, why = "Full");
    Ok(())
}
