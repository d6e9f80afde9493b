//! Parses TOML text to a tree of spanned values, and reports all syntax errors.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::text::diagnostic::{Diagnostics, quote};

/// Parses TOML as far as possible. The second result is false if anything may be missing from the
/// tree. A duplicate key keeps its first value, and nothing is missing.
pub(crate) fn read<'a>(text: &'a str, diags: &mut Diagnostics) -> (DeTable<'a>, bool) {
    let first = match DeTable::parse(text) {
        Ok(root) => return (root.into_inner(), true),
        Err(first) => first,
    };
    if text.len() > MAX_RECOVERED {
        let span = place(text, first.span());
        let (message, help) = reworded(first.message(), &text[span.clone()]);
        diags.error(span, message).help = help;
        return (DeTable::new(), false);
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    let root = root.into_inner();
    let mut errors: Vec<_> =
        errors.iter().map(|error| (place(text, error.span()), error.message())).collect();
    errors.sort_by_key(|(span, _)| span.start);
    let sound = note(text, &root, &errors, diags);
    (root, sound)
}

/// Longer broken texts get only their first error: the parser keeps a record of each, and there may
/// be one for every other byte.
const MAX_RECOVERED: usize = 1 << 20;

/// The parser's message about a duplicate key.
const DUPLICATE: &str = "duplicate key";

/// The parser's message about an unexpected table header.
const IN_BRACKETS: [&str; 3] =
    ["missing comma", "missing key for inline table element", "string values must be quoted"];

/// Reports the errors that do not only follow from others. False if one is more than a duplicate
/// key.
fn note(text: &str, root: &DeTable, errors: &[(Range<usize>, &str)], diags: &mut Diagnostics) -> bool {
    let mut lines = Lines::new(text);
    let mut sound = true;
    let mut broken_line = None;
    let mut merged_table = false;
    for (span, message) in errors {
        let new_table = lines.advance_to(span.start);
        if *message == DUPLICATE {
            // A duplicate header makes one table of two, in which many keys may be duplicates.
            merged_table &= !new_table;
            if sound && !merged_table {
                duplicate(text, root, span, diags);
                merged_table = lines.in_header();
            }
            continue;
        }
        // Within brackets, everything up to the end of the file is misread.
        if lines.in_header() && IN_BRACKETS.iter().any(|start| message.starts_with(start)) {
            if broken_line.is_none_or(|line| line < lines.last_header) {
                let line = lines.line_start..lines.line_start + lines.current().len();
                diags
                    .error(line, "this table header is inside an array or inline table")
                    .help("did you forget a `]` or `}` before it?");
            }
            return false;
        }
        // One mistake often causes several errors in its line and later ones; the first one
        // describes it.
        if broken_line.replace(lines.number).is_none_or(|line| lines.number > line + 1) {
            let (message, help) = reworded(message, &text[span.clone()]);
            diags.error(span.clone(), message).help = help;
        }
        sound = false;
    }
    sound
}

fn duplicate(text: &str, root: &DeTable, again: &Range<usize>, diags: &mut Diagnostics) {
    let key = text[again.clone()].trim();
    let first = if diags.is_full() { None } else { first_use(text, root, again, key) };
    let diagnostic = diags.error(again.clone(), format!("the key {} occurs twice in one table", quote(key)));
    diagnostic.help("merge the two, or rename one");
    if let Some(first) = first {
        diagnostic.label(first, "first used here");
    }
}

/// Returns the parser's message, in the terms of a registry file's author if its own are unhelpful.
fn reworded(message: &str, found: &str) -> (String, Option<String>) {
    match message.split_once(", expected ").map_or(message, |(found, _)| found) {
        "string values must be quoted" if found.trim().is_empty() => {
            ("the value is missing".to_string(), None)
        }
        "string values must be quoted" => {
            (format!("{} is not a value", quote(found)), Some("strings need quotes".to_string()))
        }
        "invalid float" if found.starts_with('.') => {
            let help = "a version needs quotes, for instance `version = \"1.0.0\"`";
            ("a number with two points is not a value".to_string(), Some(help.to_string()))
        }
        "invalid basic string" => ("the string has no closing `\"` in its line".to_string(), None),
        "missing escaped value" => {
            let help = "write `\\\\` for a backslash, or put the string in single quotes";
            ("the `\\` begins no escape".to_string(), Some(help.to_string()))
        }
        _ => (message.to_string(), None),
    }
}

/// Walks through a text line by line.
struct Lines<'a> {
    text: &'a str,
    line_start: usize,
    /// From 0.
    number: usize,
    /// The last line before this one that is the header of a table.
    last_header: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Lines { text, line_start: 0, number: 0, last_header: 0 }
    }

    /// Moves to the line of a byte, at or after the current one. True if a table begins on the way
    /// or there.
    fn advance_to(&mut self, at: usize) -> bool {
        let mut new_table = false;
        while let Some(newline) = self.text[self.line_start..at].find('\n') {
            if self.in_header() {
                self.last_header = self.number;
            }
            self.line_start += newline + 1;
            self.number += 1;
            new_table |= self.in_header();
        }
        new_table
    }

    fn current(&self) -> &'a str {
        self.text[self.line_start..].lines().next().unwrap_or("")
    }

    /// Returns true if the line is the header of a table and nothing else.
    fn in_header(&self) -> bool {
        let line = self.current();
        let inner = line.strip_prefix("[[").and_then(|rest| rest.trim_end().strip_suffix("]]"));
        let inner =
            inner.or_else(|| line.strip_prefix('[').and_then(|rest| rest.trim_end().strip_suffix(']')));
        inner.is_some_and(|name| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        })
    }
}

/// Returns a span on character boundaries inside the text.
fn place(text: &str, span: Option<Range<usize>>) -> Range<usize> {
    let span = span.unwrap_or(text.len()..text.len());
    let start = text.floor_char_boundary(span.start);
    start..text.ceil_char_boundary(span.end).max(start)
}

/// Returns the first occurrence of the table in which `key` is a duplicate at `again`: the
/// innermost inline table around the place, or else the table of the last header before it.
fn first_use(text: &str, root: &DeTable, again: &Range<usize>, key: &str) -> Option<Range<usize>> {
    let mut inline: Option<(Range<usize>, &DeTable)> = None;
    let mut headed = (0, root);
    let mut values: Vec<&Spanned<DeValue>> = root.values().collect();
    while let Some(value) = values.pop() {
        let span = value.span();
        match value.get_ref() {
            DeValue::Table(table) => {
                let inner = inline.as_ref().is_none_or(|(outer, _)| span.start > outer.start);
                if span.contains(&again.start) && inner {
                    inline = Some((span, table));
                } else if span.start < again.start
                    && span.start >= headed.0
                    && text[span.start..].starts_with('[')
                {
                    headed = (span.start, table);
                }
                values.extend(table.values());
            }
            DeValue::Array(array) => values.extend(array.iter()),
            _ => {}
        }
    }
    let (key, _) = inline.map_or(headed.1, |(_, table)| table).get_key_value(key)?;
    Some(key.span()).filter(|span| span.start < again.start)
}
