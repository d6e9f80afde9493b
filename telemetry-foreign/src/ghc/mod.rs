//! Logs of GHC's runtime system, `.eventlog`.
//!
//! The relation is `registries/ghc.toml`; `layout.rs` is what its bytes have beyond that.

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

/// The relation as it stands in the repository.
const RELATION: &str = include_str!("../../registries/ghc.toml");

/// True if a file that begins like this is an eventlog.
pub fn recognize(first: &[u8]) -> bool {
    first.starts_with(&layout::HEADER_BEGIN.to_be_bytes())
}

/// What GHC's runtime system can report.
pub fn registry() -> Registry {
    // Parsing it takes longer than reading a small log.
    static PARSED: LazyLock<Registry> = LazyLock::new(|| {
        // That the relation is sound is tested.
        parse_embedded(RELATION)
            .unwrap_or_else(|invalid| unreachable!("{}", invalid.render("ghc.toml", RELATION)))
    });
    PARSED.clone()
}
