//! Logs of other systems, read as the same events as our own streams, and written.
//!
//! Each system has a module with the layout of its bytes, its [`telemetry_decode::foreign::Log`],
//! and its writer. Its events are described in `registries/`, by a registry like any other.

mod format;
pub mod ghc;
mod gzip;
pub mod mono;
pub mod mps;
mod run_id;
mod written;

pub use format::{Format, RECOGNIZED_BY, relation};
pub use gzip::is_gzip;
pub use written::Written;
