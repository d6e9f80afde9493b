//! The priorities of kinds.

use std::collections::HashMap;

use telemetry_schema::Kind;

/// The priorities of the kinds of all registries so far, where they are not the usual one.
#[derive(Debug, Default)]
pub(crate) struct Priorities(HashMap<(u64, u8), u8>);

impl Priorities {
    /// Learns those of a registry from its text. A text that is no registry has none.
    pub(crate) fn learn(&mut self, registry: u64, text: &[u8]) {
        let Ok(text) = std::str::from_utf8(text) else { return };
        // Most registries state none, and are not parsed.
        if text.contains("priority ")
            && let Ok(parsed) = telemetry_schema::parse_embedded(text)
        {
            let stated = parsed.kinds.iter().filter(|kind| kind.priority != Kind::DEFAULT_PRIORITY);
            self.0.extend(stated.map(|kind| ((registry, kind.bit), kind.priority)));
        }
    }

    /// Returns the priority of a kind.
    pub(crate) fn of(&self, registry: u64, kind: u8) -> u8 {
        self.0.get(&(registry, kind)).copied().unwrap_or(Kind::DEFAULT_PRIORITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_of_later_versions_have_priorities() {
        let text = r#"
[registry]
name = "telemetry"
version = "1.0.0"
doc = "Reserved, and with a key that is not known"
later = true

[kinds]
Work = { bit = 3, priority = 9, doc = "work" }
"#;
        let mut priorities = Priorities::default();
        priorities.learn(7, text.as_bytes());
        assert_eq!((priorities.of(7, 3), priorities.of(7, 2)), (9, Kind::DEFAULT_PRIORITY));
    }
}
