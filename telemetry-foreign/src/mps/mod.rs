//! Logs of the Memory Pool System's telemetry, `mpsio.log`.
//!
//! A log is C structures without magic number, checksum or framing. `layout.rs` has their bytes,
//! `chain.rs` finds where they begin, and `survey.rs` scans a log. `registries/mps.toml` describes
//! the events, and docs/formats/mps.md everything.
//! May use: `common`. Never: know another system's logs.

mod chain;
mod extents;
mod known;
mod layout;
mod log;
mod names;
mod pieces;
mod python;
mod recognize;
mod run;
mod survey;
mod unknown;
mod version;
mod write;

pub(crate) use known::NAME;
pub use known::{layout_of, registry};
pub use log::MpsLog;
pub use names::{append_name, has_names, name, with_names};
pub use python::module as python_module;
pub use recognize::recognize;
pub use unknown::{UNKNOWN_REGISTRY, unknown_code};
pub use write::write;
