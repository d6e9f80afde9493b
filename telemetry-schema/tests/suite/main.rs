//! Tests of the crate through its public API.

mod canonical;
mod hostile;
mod json_schema;
mod loading;
mod lookup;
mod messages;
mod mistakes;
mod naming;
mod page;
mod rendering;
mod sensitive;
mod version;

use telemetry_testing::registries;

/// A registry that uses everything there is.
const GC: &str = include_str!("../valid/gc.toml");

/// The registry that the mistakes are made in.
const SMALL: &str = include_str!("../valid/small.toml");

/// Returns the registry of a valid text.
#[track_caller]
fn registry(text: &str) -> telemetry_schema::Registry {
    telemetry_schema::parse(text).unwrap_or_else(|invalid| panic!("{}", invalid.render("events.toml", text)))
}

/// Returns the mistakes in a text.
#[track_caller]
fn invalid(text: &str) -> telemetry_schema::Invalid {
    let invalid = telemetry_schema::parse(text).expect_err("the text has a mistake");
    assert!(!invalid.diagnostics.is_empty());
    assert!(invalid.diagnostics.is_sorted_by_key(|diagnostic| diagnostic.span.start));
    invalid
}
