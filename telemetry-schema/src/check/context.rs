//! Data that all rules share: the text, its origin, and the mistakes found so far.

use std::collections::HashMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use crate::model::registry::Version;
use crate::text::diagnostic::{Diagnostics, quote};

/// The origin of a text, which decides how strict the rules are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A file that people write.
    File,
    /// A stream, or another place that got it after it was checked once.
    Embedded,
}

/// The state of a check.
pub(super) struct Check<'a> {
    pub(super) text: &'a str,
    pub(super) origin: Origin,
    /// The registry's name, if it is valid.
    pub(super) version: Option<Version>,
    pub(super) diags: Diagnostics,
    pub(super) names: Names,
    /// For each mark `numbers`: the parameter, the place, and the value.
    pub(super) spaces: Vec<(String, Range<usize>, String)>,
}

impl Check<'_> {
    /// Returns a piece of the text, as messages quote it.
    pub(super) fn quote(&self, span: &Range<usize>) -> String {
        quote(self.text.get(span.clone()).unwrap_or(""))
    }
}

/// Returns the type of a TOML value, with its article.
pub(super) fn described(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// A text of the file with its place.
pub(super) type Text<'a> = Spanned<&'a str>;

/// The names of kinds, types and events share one namespace, without regard to case. Generated
/// modules define them side by side. Words that switch kinds and events match without case, and so
/// do the names of tables in SQL.
#[derive(Default)]
pub(super) struct Names {
    pub(super) taken: HashMap<String, Taken>,
}

pub(super) struct Taken {
    pub(super) role: &'static str,
    pub(super) name: String,
    pub(super) span: Range<usize>,
}
