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
