//! Mistakes that people make in an `events.toml`, each as edits of one valid file.

mod events;
mod keys;
mod links;

use crate::SMALL;

/// One mistake.
pub(crate) struct Mistake {
    /// The rule that it breaks; names the snapshot of its message.
    pub(crate) rule: &'static str,
    /// The old and the new text. The first occurrence is replaced; it must exist.
    pub(crate) edits: &'static [(&'static str, &'static str)],
    /// Whether the JSON Schema sees it too. It cannot compare one part of the file with another.
    pub(crate) in_schema: bool,
}

impl Mistake {
    /// The file with the mistake in it.
    pub(crate) fn text(&self) -> String {
        let mut text = SMALL.to_string();
        for (from, to) in self.edits {
            assert!(text.contains(from), "{}: the valid file does not have {from:?}", self.rule);
            text = text.replacen(from, to, 1);
        }
        text
    }
}

/// A mistake that the JSON Schema sees too.
const fn form(rule: &'static str, edits: &'static [(&'static str, &'static str)]) -> Mistake {
    Mistake { rule, edits, in_schema: true }
}

/// A mistake that only the rules see.
const fn meaning(rule: &'static str, edits: &'static [(&'static str, &'static str)]) -> Mistake {
    Mistake { rule, edits, in_schema: false }
}

const EVENT: &str = "[[event]]\nname = \"PoolInit\"\n";
const LABEL: &str = "sort = \"S\", max = 64";
const UNIT: &str = "unit = \"bytes\"";
const WHY: &str = "{ name = \"why\", sort = \"Why\", doc = \"what asked for it\" }";

/// Returns the mistakes, each of which makes exactly one error.
pub(crate) fn mistakes() -> impl Iterator<Item = &'static Mistake> {
    [keys::KEYS, events::EVENTS, links::LINKS].into_iter().flatten()
}
