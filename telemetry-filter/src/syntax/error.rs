//! The error in a condition, with its place.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// The error in a condition. It prints the condition with carets below the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub(crate) message: String,
    pub(crate) span: Range<usize>,
    pub(crate) help: Option<String>,
    pub(crate) condition: String,
    /// The values of a parameter are hidden.
    pub(crate) is_hidden: bool,
}

impl Error {
    pub(crate) fn new(condition: &str, span: Range<usize>, message: impl Into<String>) -> Error {
        let condition = condition.to_string();
        Error { message: message.into(), span, help: None, condition, is_hidden: false }
    }

    pub(crate) fn help(self, help: impl Into<Option<String>>) -> Error {
        Error { help: help.into(), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { message, span, help, condition, .. } = self;
        let start = condition.floor_char_boundary(span.start);
        let end = condition.ceil_char_boundary(span.end).clamp(start, condition.len());
        let mark = AnnotationKind::Primary.span(start..end);
        let snippet = Snippet::source(condition.as_str()).line_start(1).annotation(mark);
        let group =
            Group::with_title(Level::ERROR.no_name().primary_title(message.as_str())).element(snippet);
        let group = match help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        };
        f.write_str(&Renderer::plain().render(&[group]))
    }
}

impl std::error::Error for Error {}
