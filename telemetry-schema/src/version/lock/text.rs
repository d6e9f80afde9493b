//! The text of a lock file: its frame around the lines of the table, and its errors.

use std::fmt::Write;
use std::ops::Range;
use std::str::FromStr;

use crate::model::canonical::fnv1a;
use crate::text::diagnostic::{Diagnostic, quote};
use crate::text::limits::MAX_LOCK_LEN;
use crate::version::lock::field::Line;
use crate::version::lock::table::Lock;
use crate::version::lock::words::{Expected, Words};

/// The beginning of the first line, which ends in the number of the format.
const FIRST_WORD: &str = "telemetry-lock";

/// The beginning of the last line, which ends in the checksum of everything before it.
const LAST_WORD: &str = "checksum";

const NOTE: &str = "# Written by `telemetry release`. Not to be edited: restore or release it.";

/// The beginnings of lines with which git marks a conflict.
const CONFLICT: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];

const RESTORE: &str = "restore it from version control: `telemetry release` alone writes it";

impl Lock {
    /// Returns true if a text is meant as a lock file, and not as an `events.toml`.
    pub fn is_meant_by(text: &str) -> bool {
        text.starts_with(FIRST_WORD)
    }

    /// Returns the text of the `events.lock`. The same lock file always gives the same text. It has
    /// a line for each kind, type, value, event, parameter, span, preset and message, each in its
    /// order. `docs/versions.md` describes it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::with_capacity(256 + 256 * self.events.len());
        let _ = writeln!(out, "{FIRST_WORD} {}\n{NOTE}", Lock::FORMAT);
        self.write(&mut out);
        out.push('\n');
        let checksum = checksum(&out);
        let _ = writeln!(out, "{LAST_WORD} {checksum}");
        out
    }

    /// Parses the text of an `events.lock`. Line endings may be those of Windows.
    ///
    /// Never panics, whatever the text.
    ///
    /// # Errors
    /// If [`Lock::to_text`] cannot have written the text in a format that this crate knows: the
    /// reason and the place.
    pub fn parse(text: &str) -> Result<Lock, Diagnostic> {
        if text.len() as u64 > MAX_LOCK_LEN {
            let message = format!("the lock has {} bytes, expected at most {MAX_LOCK_LEN}", text.len());
            return Err(wrong(0..0, message, RESTORE));
        }
        let lines = whole(text)?;
        if lines.is_empty() {
            return Err(wrong(0..0, "the lock names no registry", RESTORE));
        }
        let mut words = Words::new(text, lines);
        let lock = registry(&mut words).map_err(|expected| {
            let found = quote(text[words.line()].trim());
            let message =
                format!("the lock has a line that is not understood: expected {expected}, found {found}");
            wrong(words.line(), message, RESTORE)
        })?;
        // The parsed data is everything that the text has.
        if let Some(line) = first_difference(text, &lock.to_text()) {
            let message = "the lock is not as `telemetry release` writes it";
            return Err(wrong(line, message, RESTORE));
        }
        Ok(lock)
    }
}

/// Parses the line of the registry and all lines after it.
fn registry(words: &mut Words) -> Result<Lock, Expected> {
    if !words.next_line_is(Lock::WORD)? {
        words.refuse_next_line();
        return Err("the registry first");
    }
    let lock = Lock::parse_line(words)?;
    // No list takes this line.
    match words.refuse_next_line() {
        None => Ok(lock),
        Some("registry") => Err("one registry"),
        Some("value") => Err("a type before its values"),
        Some("param") => Err("an event before its parameters"),
        Some("kind" | "type" | "event" | "span" | "preset" | "message") => Err("lines in their order"),
        Some("") => Err("a word"),
        Some(_) => Err("`kind`, `type`, `value`, `event`, `param`, `span`, `preset` or `message`"),
    }
}

/// Returns the lines between the first and the last, which show that the text is complete.
fn whole(text: &str) -> Result<Vec<Range<usize>>, Diagnostic> {
    if text.trim().is_empty() {
        return Err(wrong(0..0, "the lock is empty", RESTORE));
    }
    let mut lines = lines(text);
    if let Some(line) =
        lines.iter().find(|line| CONFLICT.iter().any(|marker| text[(*line).clone()].starts_with(marker)))
    {
        let help = "resolve the conflict in the registry file, take the lock of one side as it is, \
                    and let `telemetry check` compare the two";
        return Err(wrong(line.clone(), "the lock has the conflict markers of a merge", help));
    }
    let first = lines.first().cloned().unwrap_or_default();
    let format = text[first.clone()].strip_prefix(FIRST_WORD).map(str::trim);
    match format.map(u32::from_str) {
        Some(Ok(Lock::FORMAT)) => {}
        Some(Ok(newer)) if newer > Lock::FORMAT => {
            let message = format!("the lock has format {newer}, expected {}", Lock::FORMAT);
            return Err(wrong(first, message, "it is of a newer telemetry: update this one"));
        }
        _ => {
            let message =
                format!("expected `{FIRST_WORD} {}`, found {}", Lock::FORMAT, quote(&text[first.clone()]));
            return Err(wrong(first, message, RESTORE));
        }
    }
    let last = lines.pop().unwrap_or_default();
    let Some(found) = text[last.clone()].strip_prefix(LAST_WORD).map(str::trim) else {
        let message = format!("the lock is cut off: expected `{LAST_WORD}` in the last line");
        return Err(wrong(last, message, RESTORE));
    };
    let expected = match text.contains('\r') {
        // All lines end as on Windows, which version control may do.
        true if text.matches('\r').count() == lines.len() + 1 => {
            checksum(&text[..last.start].replace("\r\n", "\n"))
        }
        true => {
            return Err(wrong(0..0, "the lock has line ends of two kinds", RESTORE));
        }
        false => checksum(&text[..last.start]),
    };
    if found != expected {
        let message =
            format!("the lock was edited or damaged: its checksum is {expected}, expected {}", quote(found));
        return Err(wrong(last, message, RESTORE));
    }
    // The first line and the note.
    Ok(lines.split_off(lines.len().min(2)))
}

/// Returns the place of each line, without its end.
pub(crate) fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let all = text.split_inclusive('\n').map(|line| {
        let start = at;
        at += line.len();
        start..start + line.trim_end_matches('\n').trim_end_matches('\r').len()
    });
    all.collect()
}

/// Returns the first line of a text that differs from the expected one.
fn first_difference(text: &str, written: &str) -> Option<Range<usize>> {
    if text.lines().eq(written.lines()) && text.ends_with('\n') {
        return None;
    }
    let same = text.lines().zip(written.lines()).take_while(|(found, written)| found == written).count();
    let lines = lines(text);
    Some(lines.get(same).or(lines.last()).cloned().unwrap_or_default())
}

fn wrong(span: Range<usize>, message: impl Into<String>, help: &str) -> Diagnostic {
    Diagnostic::new(span, message).with_help(help)
}

/// Returns the checksum of a lock file's lines before the last.
fn checksum(lines: &str) -> String {
    format!("{:016x}", fnv1a(lines.as_bytes()))
}
