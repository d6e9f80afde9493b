//! The priorities of kinds.

use std::collections::HashMap;

use telemetry_schema::Kind;

/// The priorities of the kinds of all registries so far, where they are not the usual one.
#[derive(Debug, Default)]
pub(crate) struct Priorities(HashMap<(u64, u8), u8>);

impl Priorities {
    /// Learns those of a registry from its text. A text that is no registry has none.
    pub(crate) fn learn(&mut self, registry: u64, text: &[u8]) {
        // Most registries state none, and are not parsed.
        let states_some = text.windows(9).any(|word| word == b"priority ");
        let Ok(text) = std::str::from_utf8(text) else { return };
        if states_some && let Ok(parsed) = telemetry_schema::parse(text) {
            let stated = parsed.kinds.iter().filter(|kind| kind.priority != Kind::DEFAULT_PRIORITY);
            self.0.extend(stated.map(|kind| ((registry, kind.bit), kind.priority)));
        }
    }

    /// Returns the priority of a kind.
    pub(crate) fn of(&self, registry: u64, kind: u8) -> u8 {
        self.0.get(&(registry, kind)).copied().unwrap_or(Kind::DEFAULT_PRIORITY)
    }
}
