//! Events that are labels, the runtime's and the MPS's, in one pair of tables.

use telemetry_decode::LabelEvent;
use telemetry_schema::{Event, Registry};

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

/// What an event is for labels, if it is for them: an event of the runtime by its sorts, one of the MPS by its names.
pub(super) fn role(registry: &Registry, event: &Event) -> Option<Role> {
    match LabelEvent::of(registry, event) {
        Some(LabelEvent::String) => return Some(Role::Intern),
        Some(LabelEvent::Name) => return Some(Role::Label),
        // The MPS keeps pointers apart, in a table as that of any event.
        Some(LabelEvent::PointerName) => return None,
        None => {}
    }
    let names: Vec<&str> = event.params.iter().map(|param| param.name.as_str()).collect();
    match (event.name.as_str(), &names[..]) {
        ("Intern", ["stringId" | "string_id", "string"]) => Some(Role::Intern),
        ("Label", ["address", "stringId" | "string_id"]) => Some(Role::Label),
        _ => None,
    }
}
