//! A program that uses `tracing`. Two lines record it.
//!
//!     TELEMETRY_CONTROL=all TELEMETRY_FILENAME=requests.tel cargo run --example requests

use tracing::{info, info_span, instrument, warn};
use tracing_subscriber::prelude::*;

#[instrument]
fn load(key: u64) -> Option<u64> {
    if key.is_multiple_of(3) {
        warn!("not in the cache");
        return None;
    }
    Some(key * 2)
}

fn main() {
    tracing_subscriber::registry().with(telemetry_tracing::layer()).init();
    for key in 0..6 {
        let _request = info_span!("request", key).entered();
        info!(found = load(key).is_some(), "answered");
    }
}
