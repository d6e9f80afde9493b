//! Logs of GHC's runtime system, `.eventlog`.
//!
//! The registry is `registries/ghc.toml`; `layout.rs` has the layout beyond that.

mod blocks;
mod encode;
mod haskell;
mod header;
mod layout;
mod log;
mod others;
mod payload;
mod show;
mod survey;
mod types;
mod write;

use std::sync::LazyLock;

use telemetry_schema::{Registry, parse_embedded};

pub use log::GhcLog;
pub use show::Show;
pub use write::write;

/// The name of the registry.
pub(crate) const NAME: &str = "ghc";

/// The registry file in the repository.
const RELATION: &str = include_str!("../../registries/ghc.toml");

/// True if a file that begins with these bytes is an eventlog.
pub fn recognize(first: &[u8]) -> bool {
    first.starts_with(&layout::HEADER_BEGIN.to_be_bytes())
}

/// The registry of GHC's events.
pub fn registry() -> Registry {
    // Parsing it takes longer than reading a small log.
    static PARSED: LazyLock<Registry> = LazyLock::new(|| {
        // A test parses it.
        parse_embedded(RELATION)
            .unwrap_or_else(|invalid| unreachable!("{}", invalid.render("ghc.toml", RELATION)))
    });
    PARSED.clone()
}
