//! Events that fill one pair of tables with labels, as in the MPS. The marks of registries say
//! which events those are.

use telemetry_schema::{Event, NameBy, Named, Naming, Registry};

/// The role of an event for labels, in the order of the first tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A number gets a string.
    Intern,
    /// An address gets a number for its name.
    Label,
}

impl Role {
    /// Returns the table that the MPS has for it.
    pub(super) fn table(self) -> &'static str {
        match self {
            Role::Intern => "EVENT_Intern",
            Role::Label => "EVENT_Label",
        }
    }
}

/// Returns the role of an event for labels and its mark, if the event has no other purpose. Numbers
/// of a registry's own are in these tables only if its events have the same names as the MPS's.
pub(super) fn role(registry: &Registry, event: &Event) -> Option<(Role, Naming)> {
    let mut namings = event.namings();
    let (Some(naming), None) = (namings.next(), namings.next()) else { return None };
    let role = match (naming.named, naming.name) {
        (Named::Label | Named::Number, NameBy::Text) => Role::Intern,
        // If pointers have other names than addresses, they have a table like any event.
        (Named::Pointer, _) if registry.names_apart() => return None,
        (Named::Pointer | Named::Addr, NameBy::Label | NameBy::Number) => Role::Label,
        _ => return None,
    };
    let is_own = naming.named == Named::Number || naming.name == NameBy::Number;
    let is_called_so = role.table().strip_prefix("EVENT_") == Some(&*event.name);
    (!is_own || is_called_so).then_some((role, naming))
}
