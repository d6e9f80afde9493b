//! The registry of GHC's events.

use std::sync::LazyLock;

use telemetry_schema::{Registry, parse_embedded};

/// The name of the registry.
pub(crate) const NAME: &str = "ghc";

/// The registry file in the repository.
const TEXT: &str = include_str!("../../registries/ghc.toml");

/// Returns the registry of GHC's events.
pub fn registry() -> Registry {
    parsed().clone()
}

/// Returns the registry, which is parsed once.
pub(super) fn parsed() -> &'static Registry {
    // Parsing it takes longer than reading a small log.
    static PARSED: LazyLock<Registry> = LazyLock::new(|| {
        // A test parses it.
        parse_embedded(TEXT).unwrap_or_else(|invalid| unreachable!("{}", invalid.render("ghc.toml", TEXT)))
    });
    &PARSED
}
