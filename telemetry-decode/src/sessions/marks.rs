//! Marks of relations that a stream was recorded before.

use std::sync::OnceLock;

use telemetry_schema::{Registry, parse_embedded};

/// The name of the runtime's own registry.
pub const RUNTIME_REGISTRY: &str = "telemetry";

/// The relation of the runtime's own events, as it is now.
const RUNTIME: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/telemetry.toml"));

/// Knows the newest versions of some relations by their names.
pub type Relations = fn(&str) -> Option<Registry>;

/// Gives a registry that has no marks `names` those of a later version of its relation, or of the same as it is now:
/// the runtime's own, or one that `relations` knows. See [`Registry::take_names`].
pub fn take_names(registry: &mut Registry, relations: Relations) {
    if registry.gives_names() {
        return;
    }
    if registry.name == RUNTIME_REGISTRY {
        runtime().iter().for_each(|later| registry.take_names(later));
    } else if let Some(later) = relations(&registry.name) {
        registry.take_names(&later);
    }
}

/// The runtime's own registry, as it is now.
pub fn runtime_registry() -> Option<Registry> {
    runtime().clone()
}

/// Knows none.
pub(crate) fn none(_: &str) -> Option<Registry> {
    None
}

fn runtime() -> &'static Option<Registry> {
    static PARSED: OnceLock<Option<Registry>> = OnceLock::new();
    // A test parses it.
    PARSED.get_or_init(|| parse_embedded(RUNTIME).ok())
}
