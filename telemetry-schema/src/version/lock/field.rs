//! The fields of a lock file's lines. Each form writes a value and parses it again.

use std::fmt::{Display, Write};
use std::str::FromStr;

use crate::model::canonical::quoted;
use crate::model::registry::{Clock, TypeForm, Version};
use crate::model::sort::Sort;
use crate::text::snippet::is_unprintable;
use crate::text::words::{is_camel_case, is_snake_case};
use crate::version::lock::words::{Expected, Words};

/// A hash of a doc, which reveals changes; 0 for an empty doc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Docs(pub u32);

/// The state of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has an emitter.
    Used,
    /// `used = false`.
    Retired,
    /// No longer in the registry, which had it last in this released version.
    Gone(Version),
}

/// An item with a line of its own.
pub(super) trait Line: Sized {
    /// The first word of the line.
    const WORD: &'static str;

    /// Appends the line and those of its lists, without the last line's end.
    fn write(&self, out: &mut String);

    /// Parses what follows the first word, and the lines of its lists.
    fn parse_line(words: &mut Words) -> Result<Self, Expected>;
}

/// A value as one word.
pub(super) struct Form<T> {
    write: fn(&T, &mut String),
    parse: fn(&str) -> Option<T>,
}

pub(super) const CAMEL: Form<String> = Form { write: plain, parse: |word| text(word, is_camel_case) };
pub(super) const SNAKE: Form<String> = Form { write: plain, parse: |word| text(word, is_snake_case) };
pub(super) const TEXT: Form<String> = Form { write: plain, parse: |word| text(word, is_printable) };
pub(super) const VERSION: Form<Version> = Form { write: plain, parse: Version::from_text };
pub(super) const CLOCK: Form<Clock> =
    Form { write: |clock, out| out.push_str(clock.name()), parse: Clock::from_text };
pub(super) const FORM: Form<TypeForm> =
    Form { write: |form, out| out.push_str(form.name()), parse: TypeForm::from_text };
pub(super) const REPR: Form<Sort> =
    Form { write: |repr, out| out.push_str(repr.name().unwrap_or_default()), parse: Sort::from_text };

pub(super) const QUOTED: Form<String> = Form {
    write: |text, out| out.push_str(&quoted(text)),
    parse: |word| unquoted(word).filter(|text| is_printable(text)),
};

pub(super) const CODE: Form<u16> = Form {
    write: |code, out| {
        let _ = write!(out, "{code:#06x}");
    },
    parse: |word| u16::from_str_radix(word.strip_prefix("0x")?, 16).ok(),
};

const HASH: Form<Docs> = Form {
    write: |docs, out| {
        let _ = write!(out, "{:08x}", docs.0);
    },
    parse: |word| u32::from_str_radix(word, 16).ok().map(Docs),
};

/// A word that is its own key.
pub(super) const YES: Form<bool> = Form { write: |_, _| {}, parse: |rest| rest.is_empty().then_some(true) };

/// Returns the form of a number in decimal.
pub(super) const fn number<T: Display + FromStr>() -> Form<T> {
    Form { write: plain, parse: |word| word.parse().ok() }
}

fn plain<T: Display>(value: &T, out: &mut String) {
    let _ = write!(out, "{value}");
}

fn text(word: &str, is_valid: fn(&str) -> bool) -> Option<String> {
    is_valid(word).then(|| word.to_string())
}

fn is_printable(text: &str) -> bool {
    !text.chars().any(is_unprintable)
}

/// Undoes [`quoted`] for a text without control characters.
fn unquoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let (mut out, mut chars) = (String::with_capacity(inner.len()), inner.chars());
    while let Some(char) = chars.next() {
        out.push(if char == '\\' { chars.next()? } else { char });
    }
    Some(out)
}

/// A field: its key, its value, and the value for which it is left out.
pub(super) struct Field<T> {
    key: &'static str,
    form: Form<T>,
    default: Option<T>,
    expected: Expected,
}

/// Returns a field that every line has.
pub(super) fn word<T>(form: Form<T>, expected: Expected) -> Field<T> {
    Field { key: "", form, default: None, expected }
}

/// Returns a field that is left out if it has its default.
pub(super) fn keyed<T>(key: &'static str, form: Form<T>, default: T, expected: Expected) -> Field<T> {
    Field { key, form, default: Some(default), expected }
}

/// Returns the field at the end of each line, which is left out if there is no doc.
pub(super) fn docs() -> Field<Docs> {
    keyed("docs=", HASH, Docs(0), "a hash of docs")
}

impl<T: PartialEq> Field<T> {
    pub(super) fn write(&self, value: &T, out: &mut String) {
        if self.default.as_ref() != Some(value) {
            out.push(' ');
            out.push_str(self.key);
            (self.form.write)(value, out);
        }
    }

    pub(super) fn parse(self, words: &mut Words) -> Result<T, Expected> {
        match words.take(self.key) {
            Some(word) => (self.form.parse)(word),
            None => self.default,
        }
        .ok_or(self.expected)
    }
}

/// A field that is left out if there is none.
pub(super) struct Optional<T>(Field<T>);

/// Returns a field that is left out if there is none.
pub(super) fn optional<T>(key: &'static str, form: Form<T>, expected: Expected) -> Optional<T> {
    Optional(Field { key, form, default: None, expected })
}

impl<T: PartialEq> Optional<T> {
    pub(super) fn write(&self, value: &Option<T>, out: &mut String) {
        if let Some(value) = value {
            self.0.write(value, out);
        }
    }

    pub(super) fn parse(self, words: &mut Words) -> Result<Option<T>, Expected> {
        if words.is_next(self.0.key) { self.0.parse(words).map(Some) } else { Ok(None) }
    }
}

/// The state of an event: nothing, `retired`, or `gone=` with a version.
pub(super) struct EventState;

impl EventState {
    fn retired() -> Field<bool> {
        keyed("retired", YES, false, "`retired`")
    }

    fn gone() -> Optional<Version> {
        optional("gone=", VERSION, "a version")
    }

    pub(super) fn write(&self, state: &State, out: &mut String) {
        match *state {
            State::Used => {}
            State::Retired => Self::retired().write(&true, out),
            State::Gone(last) => Self::gone().write(&Some(last), out),
        }
    }

    pub(super) fn parse(&self, words: &mut Words) -> Result<State, Expected> {
        match Self::retired().parse(words)? {
            true => Ok(State::Retired),
            false => Ok(Self::gone().parse(words)?.map_or(State::Used, State::Gone)),
        }
    }
}

/// A list, whose items are the next lines.
pub(super) struct Lines<L> {
    indent: &'static str,
    is_ordered: fn(&L, &L) -> bool,
}

/// Returns a list of lines with this indent, each of which may follow the one before.
pub(super) fn lines<L: Line>(indent: &'static str, is_ordered: fn(&L, &L) -> bool) -> Lines<L> {
    Lines { indent, is_ordered }
}

impl<L: Line> Lines<L> {
    pub(super) fn write(&self, items: &[L], out: &mut String) {
        for item in items {
            out.push('\n');
            out.push_str(self.indent);
            item.write(out);
        }
    }

    pub(super) fn parse(&self, words: &mut Words) -> Result<Vec<L>, Expected> {
        let mut items: Vec<L> = Vec::new();
        while words.next_line_is(L::WORD)? {
            let line = words.line();
            let item = L::parse_line(words)?;
            if items.last().is_some_and(|last| !(self.is_ordered)(last, &item)) {
                words.go_back_to(line);
                return Err("lines in their order");
            }
            items.push(item);
        }
        Ok(items)
    }
}
