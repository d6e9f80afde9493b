//! Events that are labels in one pair of tables, as the MPS has them; which they are, the marks of registries say.

use telemetry_schema::{Event, NameBy, Named, Naming, Registry};

/// What an event is for labels. The order is that of the first tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A number gets a string.
    Intern,
    /// An address gets a number for its name.
    Label,
}

impl Role {
    /// The table that the MPS has for it.
    pub(super) fn table(self) -> &'static str {
        match self {
            Role::Intern => "EVENT_Intern",
            Role::Label => "EVENT_Label",
        }
    }
}

/// What an event is for labels, and its mark, if that is all that it is. Numbers that are a registry's own are in
/// these tables if its events are called so, as the MPS's are.
pub(super) fn role(registry: &Registry, event: &Event) -> Option<(Role, Naming)> {
    let mut namings = event.namings();
    let (Some(naming), None) = (namings.next(), namings.next()) else { return None };
    let role = match (naming.named, naming.name) {
        (Named::Label | Named::Number, NameBy::Text) => Role::Intern,
        // Where pointers are called otherwise than addresses, they have a table as any event.
        (Named::Pointer, _) if registry.names_apart() => return None,
        (Named::Pointer | Named::Addr, NameBy::Label | NameBy::Number) => Role::Label,
        _ => return None,
    };
    let is_own = naming.named == Named::Number || naming.name == NameBy::Number;
    let is_called_so = role.table().strip_prefix("EVENT_") == Some(&*event.name);
    (!is_own || is_called_so).then_some((role, naming))
}
