//! Draws places of a text: a message, the place, the line with carets below it, help.

use std::fmt::Write;
use std::ops::{Range, RangeInclusive};

/// The columns of a line that are shown; of longer lines, the part around the mistake.
const MAX_WIDTH: usize = 110;

/// Columns before the mistake in a truncated line.
const BEFORE: usize = 50;

/// Line and column of a byte, both from 1; columns count characters.
pub(crate) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    // A byte order mark is not a column.
    let column = before[line_start..].trim_start_matches('\u{feff}').chars().count();
    (before.matches('\n').count() + 1, column + 1)
}

/// A part of a file to show.
pub(crate) struct Section<'a> {
    /// Printed as it is.
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    /// At least one; the first gives the position.
    pub(crate) marks: Vec<Mark<'a>>,
}

/// A place in a text to underline.
pub(crate) struct Mark<'a> {
    pub(crate) span: Range<usize>,
    /// The character that underlines it.
    pub(crate) char: char,
    /// The text after the underline.
    pub(crate) label: &'a str,
}

/// Draws a message with its places, one file below the other, and the lines at the end: a word such
/// as `help`, and a text.
pub(crate) fn draw(message: &str, sections: &[Section], remarks: &[(&str, &str)]) -> String {
    let notes = |section: &Section| -> Vec<Note> {
        let notes =
            section.marks.iter().map(|mark| Note::new(section.text, &mark.span, mark.char, mark.label));
        let mut notes: Vec<Note> = notes.collect();
        notes.sort_by_key(|note| note.line);
        notes
    };
    let drawn: Vec<(&Section, Vec<Note>)> =
        sections.iter().map(|section| (section, notes(section))).collect();
    let lines = drawn.iter().flat_map(|(_, notes)| notes.iter().map(|note| note.line));
    let margin = lines.max().unwrap_or(1).to_string().len();

    let mut out = message.to_string();
    let mut arrow = "-->";
    for (section, notes) in &drawn {
        let (line, column) = position(section.text, section.marks.first().map_or(0, |mark| mark.span.start));
        let _ = write!(out, "\n{:margin$}{arrow} {}:{line}:{column}\n{:margin$} |", "", section.path, "");
        let mut shown: Option<&Note> = None;
        for note in notes {
            if shown.is_some_and(|shown| shown.line + 1 < note.line) {
                out.push_str("\n...");
            }
            let _ = write!(out, "\n{:margin$} | {}\n{:margin$} | {}", note.line, note.source, "", note.marks);
            shown = Some(note);
        }
        arrow = ":::";
    }
    for (word, text) in remarks {
        let _ = write!(out, "\n{:margin$} = {word}: {text}", "");
    }
    out
}

/// A line of the text with the marks below it.
struct Note {
    line: usize,
    source: String,
    marks: String,
}

impl Note {
    /// Draws the line in which `span` begins, marked as far as the span or the line goes.
    fn new(text: &str, span: &Range<usize>, mark: char, label: &str) -> Note {
        let start = text.floor_char_boundary(span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..].lines().next().unwrap_or("");
        let start = (start - line_start).min(line.len());
        let end = span.end.saturating_sub(line_start).clamp(start, line.len());
        let end = line.ceil_char_boundary(end);

        // This is more on either side than is shown; the rest of a long line is not read.
        let near_start = line[..start].char_indices().rev().nth(2 * MAX_WIDTH).map_or(0, |(at, _)| at);
        let near_end =
            line[start..].char_indices().nth(2 * MAX_WIDTH).map_or(line.len(), |(at, _)| start + at);
        let before = columns(&line[near_start..start]);
        let marked = columns(&line[start..end.min(near_end)]);
        let after = columns(&line[end.min(near_end)..near_end]);
        let whole = [&before[..], &marked, &after].concat();
        let (first, last) = window(&whole, before.len());

        let mut source: String = whole[first..last].iter().map(|column| column.char).collect();
        let mut indent = width(&whole[first..before.len()]);
        if first > 0 || near_start > 0 {
            source.insert(0, '…');
            indent += 1;
        }
        if last < whole.len() || near_end < line.len() {
            source.push('…');
        }
        let marked_last = last.clamp(before.len(), before.len() + marked.len());
        let marks = width(&whole[before.len()..marked_last]).max(1);
        let marks = " ".repeat(indent) + &mark.to_string().repeat(marks);
        let marks = if label.is_empty() { marks } else { format!("{marks} {label}") };
        Note { line: position(text, span.start).0, source, marks }
    }
}

/// A character as shown, and the columns that it takes.
#[derive(Clone, Copy)]
struct Column {
    char: char,
    width: usize,
}

/// Tabs become spaces. A control character, which might affect a terminal, becomes a replacement.
fn columns(text: &str) -> Vec<Column> {
    let mut out = Vec::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\t' => out.extend([Column { char: ' ', width: 1 }; 4]),
            _ if is_unprintable(char) => out.push(Column { char: char::REPLACEMENT_CHARACTER, width: 1 }),
            _ => out.push(Column { char, width: char_width(char) }),
        }
    }
    out
}

/// The part of a line that is shown: all of it, or as much as fits around the mark.
fn window(line: &[Column], mark: usize) -> (usize, usize) {
    if width(line) <= MAX_WIDTH {
        return (0, line.len());
    }
    let mut first = mark;
    while first > 0 && width(&line[first - 1..mark]) <= BEFORE {
        first -= 1;
    }
    let mut last = mark;
    while last < line.len() && width(&line[first..=last]) <= MAX_WIDTH {
        last += 1;
    }
    (first, last)
}

fn width(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width).sum()
}

/// True for control characters, and for those that change the direction of the text around them.
pub(crate) fn is_unprintable(char: char) -> bool {
    char.is_control() || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The columns of a character in a terminal, well enough for carets.
fn char_width(char: char) -> usize {
    const NONE: [RangeInclusive<char>; 5] = [
        '\u{300}'..='\u{36f}',
        '\u{200b}'..='\u{200f}',
        '\u{20d0}'..='\u{20ff}',
        '\u{fe00}'..='\u{fe0f}',
        '\u{feff}'..='\u{feff}',
    ];
    const TWO: [RangeInclusive<char>; 9] = [
        '\u{1100}'..='\u{115f}',
        '\u{2e80}'..='\u{a4cf}',
        '\u{ac00}'..='\u{d7a3}',
        '\u{f900}'..='\u{faff}',
        '\u{fe30}'..='\u{fe6f}',
        '\u{ff00}'..='\u{ff60}',
        '\u{ffe0}'..='\u{ffe6}',
        '\u{1f300}'..='\u{1faff}',
        '\u{20000}'..='\u{3fffd}',
    ];
    if NONE.iter().any(|range| range.contains(&char)) {
        0
    } else if TWO.iter().any(|range| range.contains(&char)) {
        2
    } else {
        1
    }
}
