//! Logs of other systems, read as the same events as our own streams, and written.
//!
//! Each system has a module with the layout of its bytes, its [`telemetry_decode::foreign::Log`],
//! and its writer. Its events are described in `registries/`, by a registry like any other.

mod common;
mod formats;
pub mod ghc;
pub mod mono;
pub mod mps;

pub use common::gzip::is_gzip;
pub use common::written::Written;
pub use formats::{Format, RECOGNIZED_BY, known_registry};
