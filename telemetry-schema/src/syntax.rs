//! TOML text to a tree of spanned values, with everything that is wrong with its syntax.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::Diagnostics;

/// Reads TOML as far as it can be read. The second result is false if anything may be missing from
/// the tree; a key that stands twice leaves it whole, with the first value.
pub(crate) fn read<'a>(text: &'a str, diags: &mut Diagnostics) -> (Spanned<DeTable<'a>>, bool) {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut sound = true;
    let mut errors: Vec<_> =
        errors.iter().map(|error| (place(text, error.span()), error.message())).collect();
    errors.sort_by_key(|(span, _)| span.start);
    let mut broken = None;
    for (span, message) in errors {
        if message == DUPLICATE {
            let key = text[span.clone()].trim();
            let first = first_use(text, root.get_ref(), &span, key);
            let diagnostic = diags.error(span.clone(), format!("the key `{key}` stands twice in one table"));
            diagnostic.help("merge the two, or rename one");
            if let Some(first) = first {
                diagnostic.label(first, "first used here");
            }
            continue;
        }
        sound = false;
        // One slip often makes several errors in its line and in those after it; the first says it.
        let line = text[..span.start].matches('\n').count();
        if broken.replace(line).is_none_or(|broken| line > broken + 1) {
            diags.error(span, message);
        }
    }
    (root, sound)
}

/// What the parser says of a key that stands twice.
const DUPLICATE: &str = "duplicate key";

/// A span on character borders inside the text.
fn place(text: &str, span: Option<Range<usize>>) -> Range<usize> {
    let span = span.unwrap_or(text.len()..text.len());
    let start = text.floor_char_boundary(span.start);
    start..text.ceil_char_boundary(span.end).max(start)
}

/// Where the table in which `key` stands again at `again` has it first: the innermost inline table
/// around the place, or else the table of the last header before it.
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
