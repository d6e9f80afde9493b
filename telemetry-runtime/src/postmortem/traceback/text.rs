//! Events as text, in the form of `telemetry print`.

use core::fmt::{self, Display, Formatter, Write};

use telemetry_format::Grouped;

use super::found::Found;
use crate::memory::walk::{Piece, Value};
use crate::model::registry_def::{EventInfo, ParamInfo, RegistryDef, TypeInfo};

/// Width of nanoseconds of almost three hours, in groups. Longer times are wider.
const TIME_WIDTH: usize = 17;
/// The system's limit for the length of a thread's name.
const THREAD_WIDTH: usize = 15;
const KIND_WIDTH: usize = 6;
const EVENT_WIDTH: usize = 20;

/// The data that the line of an event needs besides the event.
pub(super) struct Line<'f> {
    time_ns: i64,
    found: &'f Found,
    def: &'static RegistryDef,
    /// Whether to show the thread's number: it has no name, or another thread has the same name.
    numbered: bool,
    /// Whether to show the registry's name: there are several.
    qualified: bool,
}

impl<'f> Line<'f> {
    /// Returns the line for one event of `all`.
    pub(super) fn new(found: &'f Found, all: &[Found], time_ns: i64) -> Option<Self> {
        let same_name =
            |other: &Found| other.thread_name == found.thread_name && other.thread != found.thread;
        let registry = found.registry?;
        let other_registry =
            |other: &Found| other.registry.is_some_and(|other| !core::ptr::eq(other, registry));
        Some(Line {
            time_ns,
            found,
            def: registry.def(),
            numbered: found.thread_name[0] == 0 || all.iter().any(same_name),
            qualified: all.iter().any(other_registry),
        })
    }

    /// Writes what a piece of the event adds to the line.
    pub(super) fn piece(&self, out: &mut impl Write, piece: &Piece<'_>) -> fmt::Result {
        match piece {
            Piece::Event(event) => self.columns(out, event),
            Piece::Param(ParamInfo(name, ..)) => write!(out, "  {name}:"),
            Piece::Open => out.write_char('['),
            Piece::Element(0) => Ok(()),
            Piece::Element(_) => out.write_char(' '),
            Piece::Value(value) => self::value(out, value, self.def),
            Piece::Close => out.write_char(']'),
            Piece::End(ParamInfo(_, "", _)) => Ok(()),
            Piece::End(ParamInfo(_, unit, _)) => write!(out, " {unit}"),
        }
    }

    fn columns(&self, out: &mut impl Write, event: &EventInfo) -> fmt::Result {
        let name = self.found.thread_name.split(|&byte| byte == 0).next().unwrap_or_default();
        let thread = padded(THREAD_WIDTH, |out| {
            write!(out, "{}", Escaped(name))?;
            if self.numbered { write!(out, "#{}", self.found.thread) } else { Ok(()) }
        });
        let kinds = self.def.kinds;
        let kind_width = kinds.iter().map(|kind| kind.name.len()).max().unwrap_or(0).max(KIND_WIDTH);
        let kind = kinds.get(self.found.kind).map_or("", |kind| kind.name);
        write!(out, "{:>TIME_WIDTH$}  {thread}  {kind:kind_width$}  ", Grouped::from(self.time_ns))?;
        let (registry, colon) = if self.qualified { (self.def.name, ":") } else { ("", "") };
        let width = if event.params.is_empty() { 0 } else { EVENT_WIDTH };
        write!(out, "{}", padded(width, |out| write!(out, "{registry}{colon}{}", event.name)))
    }
}

fn value(out: &mut impl Write, value: &Value<'_>, def: &RegistryDef) -> fmt::Result {
    match *value {
        Value::Address(Some(number)) => write!(out, "{number:#x}"),
        Value::Word(Some(number)) | Value::Unsigned(number) => write!(out, "{number}"),
        Value::Address(None) | Value::Word(None) => out.write_char('?'),
        Value::Signed(number) => write!(out, "{number}"),
        Value::Bool(value) => write!(out, "{value}"),
        Value::F32(number) => write!(out, "{number:?}"),
        Value::F64(number) => write!(out, "{number:?}"),
        Value::String(text) => write!(out, "\"{}\"", Escaped(text)),
        Value::Bytes(bytes) => {
            out.write_char('[')?;
            for (index, byte) in bytes.iter().enumerate() {
                write!(out, "{}{byte:02x}", if index > 0 { " " } else { "" })?;
            }
            out.write_char(']')
        }
        Value::Named(number, ty) => match def.types.get(ty) {
            Some(ty) => named(out, number, ty),
            None => write!(out, "{number}"),
        },
    }
}

/// Writes the name of an enum's value, or the names of flags joined by `|`. Values without a name
/// are numbers.
fn named(out: &mut impl Write, number: i128, ty: &TypeInfo) -> fmt::Result {
    if let Some((_, name)) = ty.values.iter().find(|(value, _)| *value == number) {
        return out.write_str(name);
    }
    if !ty.is_flags || number == 0 {
        return write!(out, "{number}");
    }
    let (mut rest, mut bar) = (number, "");
    for (mask, name) in ty.values.iter().filter(|(mask, _)| *mask != 0 && number & mask == *mask) {
        write!(out, "{bar}{name}")?;
        rest &= !mask;
        bar = "|";
    }
    if rest == 0 { Ok(()) } else { write!(out, "{bar}{rest:#x}") }
}

/// Displays text for a terminal. Escapes control characters, `"` and `\` as Rust does, and bytes
/// that are not UTF-8 as `\xNN`.
struct Escaped<'a>(&'a [u8]);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for char in chunk.valid().chars() {
                match char {
                    // The standard library escapes it, but it is harmless.
                    '\'' => f.write_char(char)?,
                    char => write!(f, "{}", char.escape_debug())?,
                }
            }
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

/// Displays what `write` writes, and spaces up to a width.
fn padded(width: usize, write: impl Fn(&mut dyn Write) -> fmt::Result) -> impl Display {
    struct Padded<F>(usize, F);
    struct Counted<'o> {
        out: &'o mut dyn Write,
        width: usize,
    }
    impl Write for Counted<'_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.width += text.chars().count();
            self.out.write_str(text)
        }
    }
    impl<F: Fn(&mut dyn Write) -> fmt::Result> Display for Padded<F> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            let mut out = Counted { out: f, width: 0 };
            (self.1)(&mut out)?;
            let rest = self.0.saturating_sub(out.width);
            (0..rest).try_for_each(|_| f.write_char(' '))
        }
    }
    Padded(width, write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::registry::Registry;
    use crate::memory::tests::registry;

    const MODE: TypeInfo = TypeInfo { is_flags: true, values: &[(0, "None"), (1, "Read"), (2, "Write")] };

    #[test]
    fn values_are_shown_as_in_the_registry() {
        let def = registry().def();
        let check = |shown: Value<'_>, expected: &str| {
            let mut text = String::new();
            value(&mut text, &shown, def).expect("room");
            assert_eq!(text, expected);
        };
        check(Value::Address(Some(255)), "0xff");
        check(Value::Word(Some(255)), "255");
        check(Value::Address(None), "?");
        check(Value::Word(None), "?");
        check(Value::Unsigned(7), "7");
        check(Value::Signed(-7), "-7");
        check(Value::Bool(true), "true");
        check(Value::F32(0.1), "0.1");
        check(Value::F64(1e300), "1e300");
        check(Value::String(b"it's \"a\"\n\\\xff"), r#""it's \"a\"\n\\\xff""#);
        check(Value::Bytes(&[]), "[]");
        check(Value::Bytes(&[1, 0xff, 16]), "[01 ff 10]");
        check(Value::Named(1, 0), "High");
        check(Value::Named(9, 0), "9");
        check(Value::Named(1, 5), "1");
    }

    #[test]
    fn flags_are_joined() {
        let check = |number: i128, ty: &TypeInfo, expected: &str| {
            let mut text = String::new();
            named(&mut text, number, ty).expect("room");
            assert_eq!(text, expected);
        };
        let values: &'static [(i128, &str)] = MODE.values;
        let without = TypeInfo { values: &values[1..], ..MODE };
        for (number, expected) in [(1, "Read"), (3, "Read|Write"), (5, "Read|0x4"), (8, "0x8")] {
            check(number, &MODE, expected);
            check(number, &without, expected);
        }
        check(0, &MODE, "None");
        check(0, &without, "0");
        check(3, &TypeInfo { is_flags: false, ..MODE }, "3");
    }

    #[test]
    fn columns_are_padded_by_characters() {
        let check = |width, text: &str, expected: &str| {
            assert_eq!(format!("{}|", padded(width, |out| out.write_str(text))), expected);
        };
        check(5, "abc", "abc  |");
        check(5, "äöü", "äöü  |");
        check(3, "abc", "abc|");
        check(0, "abc", "abc|");
    }

    /// Returns an event of a thread.
    fn found(registry: &'static Registry, thread: u32, name: &str) -> Found {
        let mut found = Found { thread, registry: Some(registry), ..Found::NONE };
        found.thread_name[..name.len()].copy_from_slice(name.as_bytes());
        found
    }

    #[test]
    fn a_line_says_what_would_not_be_clear() {
        let (cache, other_cache) = (registry(), registry());
        let event = &cache.def().events[1];
        let check = |own: Found, other: Option<Found>, thread: &str, name: &str| {
            let all: Vec<Found> = [own].into_iter().chain(other).collect();
            let mut text = String::new();
            let line = Line::new(&own, &all, 1_234_567).expect("a registry");
            line.piece(&mut text, &Piece::Event(event)).expect("room");
            assert_eq!(text, format!("        1,234,567  {thread:15}  Access  {name}"));
        };
        let own = found(cache, 1, "main");
        check(own, None, "main", "Miss");
        check(own, Some(found(cache, 2, "other")), "main", "Miss");
        check(own, Some(found(cache, 2, "main")), "main#1", "Miss");
        check(own, Some(found(other_cache, 2, "other")), "main", "cache:Miss");
        check(found(cache, 3, ""), None, "#3", "Miss");
    }
}
