//! The lines of a lock file, and their words.

use std::ops::Range;
use std::vec::IntoIter;

/// The content that was expected in a line.
pub(super) type Expected = &'static str;

/// The rest of a text: the words of a line that are not parsed yet, and the lines after it.
pub(super) struct Words<'a> {
    text: &'a str,
    line: Range<usize>,
    rest: &'a str,
    lines: IntoIter<Range<usize>>,
}

impl<'a> Words<'a> {
    /// Returns the words of these lines. The first call must be [`Words::next_line_is`].
    pub(super) fn new(text: &'a str, lines: Vec<Range<usize>>) -> Words<'a> {
        Words { text, line: 0..0, rest: "", lines: lines.into_iter() }
    }

    /// Returns the place of the line.
    pub(super) fn line(&self) -> Range<usize> {
        self.line.clone()
    }

    /// Makes an earlier line the place of an error.
    pub(super) fn go_back_to(&mut self, line: Range<usize>) {
        self.line = line;
    }

    /// Enters the next line if it begins with a word. Fails if the line has words left.
    pub(super) fn next_line_is(&mut self, word: &str) -> Result<bool, Expected> {
        if !self.rest.is_empty() {
            return Err("the end of the line");
        }
        let Some(line) = self.lines.as_slice().first().cloned() else { return Ok(false) };
        let (first, rest) = split_word(self.text[line].trim_start());
        if first != word {
            return Ok(false);
        }
        self.rest = rest;
        self.line = self.lines.next().unwrap_or_default();
        Ok(true)
    }

    /// Makes the next line the place of an error, and returns its first word.
    pub(super) fn refuse_next_line(&mut self) -> Option<&'a str> {
        self.line = self.lines.next()?;
        Some(split_word(self.text[self.line()].trim_start()).0)
    }

    /// Returns true if the next word has this beginning.
    pub(super) fn is_next(&self, start: &str) -> bool {
        self.rest.strip_prefix(' ').unwrap_or(self.rest).starts_with(start)
    }

    /// Returns the rest of the next word, if there is one with this beginning.
    pub(super) fn take(&mut self, start: &str) -> Option<&'a str> {
        if !self.is_next(start) {
            return None;
        }
        let (word, rest) = split_word(self.rest.strip_prefix(' ').unwrap_or(self.rest));
        self.rest = rest;
        word.strip_prefix(start).filter(|_| !word.is_empty())
    }
}

/// Splits a text after its first word. Arrays and quoted text are one word, with spaces.
fn split_word(text: &str) -> (&str, &str) {
    let space = text.find(' ').unwrap_or(text.len());
    // The usual word, faster in an unoptimized macro.
    let word = &text[..space];
    let is_plain = !word.contains('"') && !word.contains('[');
    text.split_at(if is_plain { space } else { end_of_word(text) })
}

/// Returns the end of a word at the beginning of a text, with arrays or quotes in it.
fn end_of_word(text: &str) -> usize {
    let (mut in_quotes, mut in_brackets, mut escaped) = (false, false, false);
    let end = text.bytes().position(|byte| {
        let was_escaped = std::mem::replace(&mut escaped, false);
        match byte {
            b'\\' if in_quotes && !was_escaped => escaped = true,
            b'"' if !was_escaped => in_quotes = !in_quotes,
            b'[' if !in_quotes => in_brackets = true,
            b']' if !in_quotes => in_brackets = false,
            b' ' => return !in_quotes && !in_brackets,
            _ => {}
        }
        false
    });
    end.unwrap_or(text.len())
}
