//! Why a comparison does not fit an event type.

use std::ops::Range;

/// Why a comparison does not fit an event type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The event type has no such parameter.
    Missing,
    /// The comparison makes no sense for the parameter, or another name is unknown.
    Misuse { at: Range<usize>, message: String, help: Option<String> },
}

impl Problem {
    pub(crate) fn misuse(at: Range<usize>, message: impl Into<String>) -> Problem {
        Problem::Misuse { at, message: message.into(), help: None }
    }

    pub(crate) fn with_help(self, text: impl Into<String>) -> Problem {
        match self {
            Problem::Missing => Problem::Missing,
            Problem::Misuse { at, message, .. } => Problem::Misuse { at, message, help: Some(text.into()) },
        }
    }
}
