//! Logs of the Mono log profiler, `.mlpd`: data version 1 (2010) and data version 17 (Mono 6.8).
//!
//! A file is a header and buffers. A buffer is one thread's, and decodable alone: the running clock, the bases that
//! numbers are counted from, and the chain of methods begin again in each. [`v1`] and [`v17`] are the tables of what
//! events look like in it; what they mean is in the relation `registries/mono.toml`.

mod debug;
mod decode;
mod facts;
mod header;
mod known;
mod layout;
mod leb;
mod log;
mod names;
mod order;
mod page;
mod read_ahead;
mod report;
mod stack;
mod text;
mod v1;
mod v17;
mod walk;
mod what;
mod words;

use telemetry_schema::Registry;

pub use debug::debug;
pub use log::MonoLog;
pub use report::{ReportOptions, report};

/// The relation as it stands in this crate.
const REGISTRY: &str = include_str!("../../registries/mono.toml");

/// True if a file that begins with these bytes is a log of the Mono log profiler, of whatever data version.
pub fn recognize(first: &[u8]) -> bool {
    header::is_file(first)
}

/// Mono's events, of both data versions.
///
/// # Panics
/// Never: the text is part of this crate, and tests parse it.
pub fn registry() -> Registry {
    match telemetry_schema::parse(REGISTRY) {
        Ok(registry) => registry,
        Err(invalid) => unreachable!("{}", invalid.render("registries/mono.toml", REGISTRY)),
    }
}
