//! One difference between two registries.

use std::fmt;

use crate::text::diagnostic::quote;
use crate::version::rule::Rule;

/// One difference between a released registry and a newer one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The rule for the difference, and so its demand.
    pub rule: Rule,
    /// The changed item by its old name. `None` if it is new.
    pub old: Option<Thing>,
    /// The changed item by its new name. `None` if it is gone.
    pub new: Option<Thing>,
    /// The key of `events.toml` whose value changed; empty for the whole item.
    pub key: &'static str,
    /// The old value, as in a registry file; empty if there was none.
    pub was: String,
    /// The new value, as in a registry file; empty if there is none.
    pub is: String,
}

/// An item of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Thing {
    /// The registry itself.
    Registry,
    Kind {
        name: String,
    },
    Type {
        name: String,
    },
    Value {
        ty: String,
        name: String,
    },
    /// The code distinguishes it from an earlier event of the same name.
    Event {
        name: String,
        code: u16,
    },
    Param {
        event: String,
        code: u16,
        name: String,
    },
    Span {
        name: String,
    },
    Preset {
        name: String,
    },
    Message {
        name: String,
    },
}

impl Change {
    /// Returns the item by its new name or, if it is gone, by its old name.
    pub fn thing(&self) -> &Thing {
        self.new.as_ref().or(self.old.as_ref()).unwrap_or(&Thing::Registry)
    }

    /// Returns the change in one line: lower case, no period.
    pub fn message(&self) -> String {
        let thing = self.thing();
        let (was, is) = (quote(&self.was), quote(&self.is));
        let called = |thing: &Option<Thing>| quote(thing.as_ref().map_or("", Thing::name));
        match self.rule {
            Rule::DocsChanged => format!("the doc of {thing} changed"),
            Rule::EventAdded
            | Rule::KindAdded
            | Rule::TypeAdded
            | Rule::ValueAdded
            | Rule::SpanAdded
            | Rule::PresetAdded
            | Rule::MessageAdded => {
                format!("{thing} is new")
            }
            Rule::KindRemoved
            | Rule::TypeRemoved
            | Rule::ValueRemoved
            | Rule::SpanRemoved
            | Rule::PresetRemoved
            | Rule::MessageRemoved => {
                format!("{thing} is removed")
            }
            Rule::ParamRemoved => format!("{thing} is removed"),
            Rule::EventRetired => format!("{thing} is retired"),
            Rule::EventRestored => format!("{thing} is used again"),
            Rule::EventForgotten => format!("{thing}, which is retired, is removed from the file"),
            Rule::EventRemoved => format!("{thing} is removed, but was not retired"),
            Rule::CodeReused => format!("{thing} has the code {is}, which belongs to {was}"),
            Rule::EventRenamed
            | Rule::ParamRenamed
            | Rule::KindRenamed
            | Rule::TypeRenamed
            | Rule::ValueRenamed => format!("{thing} was called {}", called(&self.old)),
            Rule::ParamAppended => format!("{thing} is appended"),
            Rule::SinceMissing => format!("{thing} is appended, but has no `since`"),
            Rule::SinceWrong => format!("{thing} is appended now, but has `since = \"{}\"`", self.is),
            Rule::SpanChanged => format!("{thing} is from {is}, was from {was}"),
            Rule::PresetChanged => format!("{thing} has the words {is}, had {was}"),
            Rule::MessageChanged => format!("{thing} is {is}, was {was}"),
            Rule::ValueRenumbered => format!("{thing} has the number {is}, had {was}"),
            Rule::ParamInserted => format!("{thing} is inserted"),
            Rule::ParamMoved => format!("{thing} has place {}, had {}", self.is, self.was),
            Rule::VersionLowered => format!("the version is {}, below {} as released", self.is, self.was),
            Rule::RegistryRenamed => format!("the registry is called {is}, but {was} was released"),
            Rule::EventAlwaysChanged
            | Rule::EventReplayChanged
            | Rule::EventRangeChanged
            | Rule::EventCensusChanged
            | Rule::EventTimeChanged
            | Rule::EventRecoded
            | Rule::EventKindChanged
            | Rule::SinceChanged
            | Rule::ParamRetyped
            | Rule::MaxChanged
            | Rule::UnitGiven
            | Rule::UnitChanged
            | Rule::AlignChanged
            | Rule::CounterChanged
            | Rule::NamesChanged
            | Rule::SensitiveGiven
            | Rule::SensitiveChanged
            | Rule::KindBitChanged
            | Rule::KindClockChanged
            | Rule::TypeReprChanged
            | Rule::TypeFormChanged => match (self.was.is_empty(), self.is.is_empty()) {
                (true, _) => format!("`{}` of {thing} is {is}, and was not set", self.key),
                (_, true) => format!("`{}` of {thing} is not set, was {was}", self.key),
                _ => format!("`{}` of {thing} is {is}, was {was}", self.key),
            },
        }
    }
}

impl Thing {
    /// Returns its own name; empty for the registry.
    pub fn name(&self) -> &str {
        match self {
            Thing::Registry => "",
            Thing::Kind { name }
            | Thing::Type { name }
            | Thing::Value { name, .. }
            | Thing::Event { name, .. }
            | Thing::Param { name, .. }
            | Thing::Span { name }
            | Thing::Preset { name }
            | Thing::Message { name } => name,
        }
    }
}

/// Its form in messages: ``parameter `size` of event `Evicted` ``.
impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = quote(self.name());
        match self {
            Thing::Registry => f.write_str("the registry"),
            Thing::Kind { .. } => write!(f, "kind {name}"),
            Thing::Type { .. } => write!(f, "type {name}"),
            Thing::Value { ty, .. } => write!(f, "value {name} of type {}", quote(ty)),
            Thing::Event { .. } => write!(f, "event {name}"),
            Thing::Param { event, .. } => write!(f, "parameter {name} of event {}", quote(event)),
            Thing::Span { .. } => write!(f, "span {name}"),
            Thing::Preset { .. } => write!(f, "preset {name}"),
            Thing::Message { .. } => write!(f, "message {name}"),
        }
    }
}
