//! Logs of the Mono log profiler, `.mlpd`: data version 1 (2010) and data version 17 (Mono 6.8).
//!
//! A file is a header and buffers. A buffer belongs to one thread and can be decoded alone: the
//! clock, the bases of numbers, and the chain of methods start again in each. `v1.rs` and `v17.rs`
//! have the bytes, and `registries/mono.toml` the meaning.
//! May use: `common`. Never: know another system's logs.

mod calls;
mod debug;
mod decode;
mod encode;
mod facts;
mod header;
mod known;
mod layout;
mod leb;
mod log;
mod names;
mod order;
mod output;
mod page;
mod read_ahead;
mod registry;
mod report;
mod row;
mod stack;
mod text;
mod v1;
mod v17;
mod walk;
mod what;
mod words;
mod write;

pub use debug::debug;
pub use header::recognize;
pub use log::MonoLog;
pub(crate) use registry::NAME;
pub use registry::{registry, registry_of_one};
pub use report::{ReportOptions, report};
pub use write::write;
