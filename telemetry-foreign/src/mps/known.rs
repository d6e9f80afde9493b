//! The MPS's events: their registry, and their layout in a log.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use telemetry_schema::{Registry, parse_embedded};

use super::layout::Layout;

/// The name of the registry, and the fact `format` of sessions.
pub(crate) const NAME: &str = "mps";

/// The registry file of the MPS's events.
const TEXT: &str = include_str!("../../registries/mps.toml");

/// The MPS's events: their registry, and their layout in a log.
pub(super) struct Known {
    pub(super) registry: Registry,
    pub(super) layout: Layout,
}

/// Returns the registry of the MPS's events.
pub fn registry() -> Registry {
    known().registry.clone()
}

/// Returns the registry and the layout, which are made once.
pub(super) fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        // A test parses it.
        let registry = parse_embedded(TEXT).unwrap_or_else(|_| {
            let mut registry = Registry::default();
            registry.name = NAME.to_string();
            registry
        });
        let layout = Layout::new(&registry);
        Known { registry, layout }
    })
}

/// Returns the offsets of the parameters of the event with a code, and its possible sizes in a log.
pub fn layout_of(code: u16) -> Option<(Vec<usize>, RangeInclusive<usize>)> {
    let (_, form) = known().layout.of_code(code)?;
    Some((form.offsets().collect(), form.size()..=form.most()))
}
