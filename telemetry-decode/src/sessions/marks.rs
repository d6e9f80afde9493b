//! Marks for registries of streams that are older than the marks.

use std::sync::OnceLock;

use telemetry_schema::{Registry, parse_embedded};

/// The name of the runtime's own registry.
pub const RUNTIME_REGISTRY: &str = telemetry_format::own::NAME;

/// A function that returns the newest version of a registry by its name.
pub type KnownRegistries = fn(&str) -> Option<Registry>;

/// Adds marks `names`, `range` and `census` to a registry that has none. They come from a later
/// version of the registry: the runtime's own, or one that `known_registries` returns. See
/// [`Registry::take_names`].
pub fn take_names(registry: &mut Registry, known_registries: KnownRegistries) {
    if registry.name == RUNTIME_REGISTRY {
        runtime().iter().for_each(|later| registry.take_names(later));
    } else if let Some(later) = known_registries(&registry.name) {
        registry.take_names(&later);
    }
}

/// Returns the present version of the runtime's own registry.
pub fn runtime_registry() -> Option<Registry> {
    runtime().clone()
}

/// Returns no registry for any name.
pub(crate) fn none(_: &str) -> Option<Registry> {
    None
}

fn runtime() -> &'static Option<Registry> {
    static PARSED: OnceLock<Option<Registry>> = OnceLock::new();
    // A test parses it.
    PARSED.get_or_init(|| parse_embedded(telemetry_format::own::TOML).ok())
}
