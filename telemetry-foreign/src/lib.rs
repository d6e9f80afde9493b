//! Logs of other systems, read as the same events as our own streams, and written again.
//!
//! Each system has a module with the layout of its bytes, its [`telemetry_decode::Log`], and its writer. What its events
//! are is in `registries/`, as a relation like any other.

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
