//! The version of a registry that a stream needs.

use telemetry_schema::{Registry, Version};

/// How far above the registry's own number medians and minors are tried, and how many of each.
const NEWER: u32 = 8;
const MEDIANS: usize = 16;
const MINORS: usize = 128;

/// Finds the version in which a registry had a fingerprint. It tries versions, each without the
/// parameters that were appended later. It does not consider events that were added since.
pub(crate) fn version_with(registry: &Registry, fingerprint: u64) -> Option<Version> {
    let Version { major, median, minor } = registry.version;
    let medians = (0..=median.saturating_add(NEWER)).rev().take(MEDIANS);
    let mut versions = medians.flat_map(|median| {
        let minors = (0..=minor.saturating_add(NEWER)).rev().take(MINORS);
        minors.map(move |minor| Version { major, median, minor })
    });
    versions.find(|version| at(registry, *version).fingerprint() == fingerprint)
}

/// Returns the registry as it was in a version, but with all its events.
fn at(registry: &Registry, version: Version) -> Registry {
    let mut older = registry.clone();
    older.version = version;
    for event in &mut older.events {
        event.params.retain(|param| param.since.is_none_or(|since| since <= version));
    }
    older
}
