//! Logs of GHC's runtime system, `.eventlog`.
//!
//! `registry.rs` has the events, and `layout.rs` the bytes beyond the registry.
//! May use: `common`. Never: know another system's logs.

mod blocks;
mod encode;
mod haskell;
mod header;
mod layout;
mod log;
mod others;
mod payload;
mod registry;
mod show;
mod survey;
mod types;
mod write;

pub use header::recognize;
pub use log::GhcLog;
pub(crate) use registry::NAME;
pub use registry::registry;
pub use show::Show;
pub use write::write;
