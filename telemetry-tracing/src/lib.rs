//! A layer that records the spans and events of the crate `tracing`.
//!
//! ```no_run
//! use tracing_subscriber::prelude::*;
//!
//! tracing_subscriber::registry().with(telemetry_tracing::layer()).init();
//! telemetry::set("tracing:all");
//!
//! let _span = tracing::info_span!("request", path = "/index").entered();
//! tracing::warn!(bytes = 17, "slow");
//! ```
//!
//! Any crate that uses `tracing` is recorded without a registry of its own. The layer has a fixed
//! one, `tracing.toml`: `SpanNew` and `SpanClose`, `SpanEnter` and `SpanExit`, `SpanFollows`,
//! `LogEvent`, and an event for each field. Names are labels, so a stream has each of them once.
//! `docs/tracing.md` in the repository is the guide.
//!
//! # Features
//!
//! - `forward`: `Forward`, a sink that gives events of telemetry to subscribers of `tracing`.

mod callsite;
mod fields;
#[cfg(feature = "forward")]
mod forward;
mod layer;
mod mapped;
mod number;
mod text;

#[cfg(feature = "forward")]
pub use forward::Forward;
pub use layer::{layer, layer_for};
pub use mapped::{Mapping, MappingError, mismatches};

/// The events of the registry `tracing`, for readers of streams.
#[doc(hidden)]
#[telemetry::telemetry_event("tracing.toml")]
pub mod events {}
