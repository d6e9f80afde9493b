//! The registry of perf's events.

use telemetry_schema::{Registry, parse_embedded};

/// The registry file in the repository.
const TEXT: &str = include_str!("../../registries/perf.toml");

/// Returns the registry of perf's events.
pub fn registry() -> Registry {
    // A test parses it.
    parse_embedded(TEXT).unwrap_or_else(|invalid| unreachable!("{}", invalid.render("perf.toml", TEXT)))
}
