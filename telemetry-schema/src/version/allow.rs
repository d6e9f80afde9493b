//! `[[allow]]`: changes that a registry makes on purpose without the number that they demand.

use std::ops::Range;

use crate::version::change::{Change, Thing};
use crate::version::rule::Rule;

/// One `[[allow]]` of an `events.toml`: excuses one change from its rule. It is a note of the file
/// about the step from the last release to the next one. So it is not part of the registry, and no
/// stream has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Allow {
    /// The rule that the change breaks.
    pub rule: Rule,
    /// The item that changes.
    pub target: Target,
    /// The reason; never empty.
    pub reason: String,
    /// Its place in the file, in bytes.
    pub span: Range<usize>,
}

/// The item that an [`Allow`] names: at most one of these groups, none for the registry itself.
/// Names are those of the new registry, or of the old one for items that are gone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Target {
    pub kind: Option<String>,
    pub ty: Option<String>,
    /// Of the type.
    pub value: Option<String>,
    pub event: Option<String>,
    /// Of the event.
    pub param: Option<String>,
    pub span: Option<String>,
    pub preset: Option<String>,
    pub message: Option<String>,
}

impl Allow {
    /// Returns true if it excuses the change.
    pub fn matches(&self, change: &Change) -> bool {
        self.rule == change.rule && self.target == Target::of(change.thing())
    }
}

impl Target {
    /// Returns the target that names a thing.
    pub fn of(thing: &Thing) -> Target {
        let nothing = Target::default();
        let some = |text: &String| Some(text.clone());
        match thing {
            Thing::Registry => nothing,
            Thing::Kind { name } => Target { kind: some(name), ..nothing },
            Thing::Type { name } => Target { ty: some(name), ..nothing },
            Thing::Value { ty, name } => Target { ty: some(ty), value: some(name), ..nothing },
            Thing::Event { name, .. } => Target { event: some(name), ..nothing },
            Thing::Param { event, name, .. } => Target { event: some(event), param: some(name), ..nothing },
            Thing::Span { name } => Target { span: some(name), ..nothing },
            Thing::Preset { name } => Target { preset: some(name), ..nothing },
            Thing::Message { name } => Target { message: some(name), ..nothing },
        }
    }

    /// Returns the keys of `[[allow]]` and their values, in the order of [`crate::keys::ALLOW`].
    pub fn keys(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let keys = [
            ("event", &self.event),
            ("param", &self.param),
            ("kind", &self.kind),
            ("preset", &self.preset),
            ("type", &self.ty),
            ("value", &self.value),
            ("span", &self.span),
            ("message", &self.message),
        ];
        keys.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)))
    }
}
