//! Why a comparison does not fit an event type.

use std::ops::Range;

use telemetry_schema::nearest;

/// Why a comparison does not fit an event type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The event type has no such parameter.
    Missing,
    /// The comparison makes no sense for the parameter, its values are hidden, or another name is
    /// unknown.
    Misuse { at: Range<usize>, message: String, help: Option<String>, is_hidden: bool },
}

/// The maximum of names that a message lists.
const MOST_LISTED: usize = 12;

/// Says what an unknown name was probably meant to be, or what could stand in its place.
pub(crate) fn instead<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    known.for_each(|name| {
        if !names.contains(&name) {
            names.push(name);
        }
    });
    if let Some(nearest) = nearest(name, names.iter().copied()) {
        return Some(format!("did you mean `{nearest}`?"));
    }
    let shown: Vec<_> = names.iter().take(MOST_LISTED).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    (!shown.is_empty()).then(|| format!("expected {}{more}", shown.join(", ")))
}

impl Problem {
    pub(crate) fn misuse(at: Range<usize>, message: impl Into<String>) -> Problem {
        Problem::Misuse { at, message: message.into(), help: None, is_hidden: false }
    }

    /// Returns true if the values of a parameter are hidden.
    pub(crate) fn is_hidden(&self) -> bool {
        matches!(self, Problem::Misuse { is_hidden: true, .. })
    }

    pub(crate) fn with_help(self, text: impl Into<String>) -> Problem {
        match self {
            Problem::Missing => Problem::Missing,
            Problem::Misuse { at, message, is_hidden, .. } => {
                Problem::Misuse { at, message, help: Some(text.into()), is_hidden }
            }
        }
    }
}
