//! Draws places of a text: a message, the place, the line with carets below it, help.
//!
//! `annotate-snippets` draws. This file makes any span fit its text, so that the library cannot
//! panic. It gives the library only the lines with marks, so that a large file is not read for each
//! message.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

/// The columns of a drawing; of longer lines, the part around the mistake is shown.
const MAX_WIDTH: usize = 120;

/// A byte order mark, which is not a column.
const MARK: char = '\u{feff}';

/// Returns line and column of a byte, both from 1; columns count characters.
pub(crate) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let column = before[line_start(text, at)..].trim_start_matches(MARK).chars().count();
    (before.matches('\n').count() + 1, column + 1)
}

/// Returns the start of the line of a byte.
fn line_start(text: &str, at: usize) -> usize {
    text[..text.floor_char_boundary(at)].rfind('\n').map_or(0, |newline| newline + 1)
}

/// A part of a file to show.
pub(crate) struct Section<'a> {
    /// Printed as it is.
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    /// At least one; the primary mark gives the position.
    pub(crate) marks: Vec<Mark<'a>>,
}

/// A place in a text to underline.
pub(crate) struct Mark<'a> {
    pub(crate) span: Range<usize>,
    /// Underlined with `^` if it is primary, else with `-`.
    pub(crate) kind: AnnotationKind,
    /// The text after the underline.
    pub(crate) label: &'a str,
}

/// Draws a message with its places, one file below the other, and the remarks at the end: a level
/// such as help, and a text.
pub(crate) fn draw(message: &str, sections: &[Section], remarks: &[(Level<'static>, &str)]) -> String {
    // Callers write the word `error` themselves, or leave it to rustc.
    let title = Level::ERROR.no_name().primary_title(message);
    let group = Group::with_title(title)
        .elements(sections.iter().map(snippet))
        .elements(remarks.iter().map(|(level, text)| level.clone().message(*text)));
    Renderer::plain().term_width(MAX_WIDTH).render(&[group])
}

/// Returns the lines from the first mark to the last.
fn snippet<'a>(section: &Section<'a>) -> Snippet<'a, Annotation<'a>> {
    let Section { path, text, marks } = section;
    let spans = || marks.iter().map(|mark| clamp(text, &mark.span));
    let start = spans().map(|span| line_start(text, span.start)).min().unwrap_or(0);
    let end = spans().map(|span| span.end).max().unwrap_or(0).max(start);
    let end = end + text[end..].lines().next().map_or(0, str::len);
    let start = if text[start..end].starts_with(MARK) { start + MARK.len_utf8() } else { start };
    let annotations = marks.iter().zip(spans()).map(|(mark, span)| {
        let label = (!mark.label.is_empty()).then_some(mark.label);
        let span = span.start.saturating_sub(start)..span.end.saturating_sub(start);
        mark.kind.span(span).label(label)
    });
    Snippet::source(&text[start..end])
        .path(*path)
        .line_start(position(text, start).0)
        .annotations(annotations)
}

/// Returns the part of a span that is in the text, in whole characters.
fn clamp(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(span.start);
    start..text.ceil_char_boundary(span.end).clamp(start, text.len())
}

/// Returns true for control characters, and for those that change the direction of the text around
/// them. Docs, units and messages must not have them, because they are shown on terminals.
#[must_use]
pub fn is_unprintable(char: char) -> bool {
    char.is_control() || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
