//! The header of a log: the types of its events.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use telemetry_decode::completeness::{Cause, Damage};
use telemetry_decode::foreign::LogBytes;

use super::layout::{
    DATA_BEGIN, HEADER_BEGIN, HEADER_END, TYPE_BEGIN, TYPE_END, TYPES_BEGIN, TYPES_END, VARIABLE,
};

/// The most bytes of a description, and of further data of a type: more than any writer uses.
const MAX_TEXT: u32 = 16_384;

/// Returns true if a file that begins with these bytes is an eventlog.
pub fn recognize(first: &[u8]) -> bool {
    first.starts_with(&HEADER_BEGIN.to_be_bytes())
}

/// A type as declared in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declared<'a> {
    /// The number at the start of its events.
    pub(super) tag: u16,
    /// Bytes of its payload, or [`VARIABLE`].
    pub(super) size: u16,
    /// The description.
    pub(super) description: &'a [u8],
}

/// The content of a header.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Size and description by tag. If a tag is declared twice, the later one counts.
    pub(super) types: BTreeMap<u16, (u16, Vec<u8>)>,
    /// The declarations: their bytes in the log, and their number.
    pub(super) declarations: Vec<(Range<u64>, u32)>,
    /// Where the events begin. `None` if the log ends before that.
    pub(super) end: Option<u64>,
    /// The parts that cannot be read.
    pub(super) damage: Vec<Damage>,
}

/// Bytes of the log with declarations that are read together.
const STEP: u64 = 64 << 10;

impl Header {
    /// Reads a header that begins at `at`.
    ///
    /// Anything that is not a declaration is damage up to the next one, so one flipped bit costs
    /// one type.
    pub(super) fn read(bytes: &mut LogBytes<'_>, at: u64) -> io::Result<Header> {
        let mut header = Header::default();
        let mut at = header.expect(bytes, at, HEADER_BEGIN, "hdrb")?;
        at = header.expect(bytes, at, TYPES_BEGIN, "hetb")?;
        loop {
            let here = bytes.at(at, MAX_TEXT as usize * 2 + 24)?;
            match mark(here) {
                Some(TYPES_END) => {
                    at = header.expect(bytes, at + 4, HEADER_END, "hdre")?;
                    header.end = Some(header.expect(bytes, at, DATA_BEGIN, "datb")?);
                    break;
                }
                Some(DATA_BEGIN) => {
                    header.note(at..at, "events begin inside of the header".into());
                    header.end = Some(at + 4);
                    break;
                }
                _ => {}
            }
            match declaration(here) {
                Ok((declared, len)) => {
                    header.types.insert(declared.tag, (declared.size, declared.description.to_vec()));
                    header.declared(at, len as u64);
                    at += len as u64;
                }
                Err(why) => {
                    let end = next_mark(bytes, at)?;
                    header.note(at..end, format!("a type of events that cannot be read: {why}"));
                    at = end;
                    if at == bytes.len() {
                        break;
                    }
                }
            }
        }
        Ok(header)
    }

    /// Skips a mark. Other bytes in its place are treated as the mark.
    fn expect(&mut self, bytes: &mut LogBytes<'_>, at: u64, expected: u32, name: &str) -> io::Result<u64> {
        let end = (at + 4).min(bytes.len());
        let found = mark(bytes.at(at, 4)?);
        if found != Some(expected) {
            let found = match found {
                Some(found) => format!("{found:08x}"),
                None => "the end of the log".to_string(),
            };
            self.note(at..end, format!("{found}, expected `{name}` ({expected:08x})"));
        }
        Ok(end)
    }

    fn note(&mut self, range: Range<u64>, why: String) {
        // The end of the log is reported once.
        if range.is_empty() && self.damage.last().is_some_and(|damage| damage.range.end == range.end) {
            return;
        }
        self.damage.push(Damage::new(range, Cause::Log(why), 0));
    }

    fn declared(&mut self, at: u64, len: u64) {
        match self.declarations.last_mut() {
            Some((range, count)) if range.end == at && range.end - range.start < STEP => {
                range.end += len;
                *count += 1;
            }
            _ => self.declarations.push((at..at + len, 1)),
        }
    }
}

/// Reads the declaration of a type. Returns its length, or what is wrong with it.
pub(super) fn declaration(bytes: &[u8]) -> Result<(Declared<'_>, usize), String> {
    let cut = || "the log ends in it".to_string();
    let number = |at: usize| bytes.get(at..at + 4).and_then(mark).ok_or_else(cut);
    let text = |at: usize, what: &str| -> Result<usize, String> {
        match number(at)? {
            len if len <= MAX_TEXT => Ok(len as usize),
            len => Err(format!("{what} of {len} bytes, expected at most {MAX_TEXT}")),
        }
    };
    match number(0)? {
        TYPE_BEGIN => {}
        found => return Err(format!("{found:08x}, expected `etb` ({TYPE_BEGIN:08x})")),
    }
    let numbers = number(4)?;
    let description = text(8, "a description")?;
    let extra = text(12 + description, "something else")?;
    match number(16 + description + extra)? {
        TYPE_END => {}
        found => return Err(format!("{found:08x}, expected `ete` ({TYPE_END:08x})")),
    }
    let declared = Declared {
        tag: (numbers >> 16) as u16,
        size: numbers as u16,
        description: bytes.get(12..12 + description).ok_or_else(cut)?,
    };
    Ok((declared, 20 + description + extra))
}

/// Appends the header of a log with these types.
pub(super) fn append<'a>(out: &mut Vec<u8>, types: impl Iterator<Item = Declared<'a>>) {
    out.extend(HEADER_BEGIN.to_be_bytes());
    out.extend(TYPES_BEGIN.to_be_bytes());
    for Declared { tag, size, description } in types {
        out.extend(TYPE_BEGIN.to_be_bytes());
        out.extend(tag.to_be_bytes());
        out.extend(size.to_be_bytes());
        out.extend((description.len() as u32).to_be_bytes());
        out.extend(description);
        out.extend(0_u32.to_be_bytes());
        out.extend(TYPE_END.to_be_bytes());
    }
    for mark in [TYPES_END, HEADER_END, DATA_BEGIN] {
        out.extend(mark.to_be_bytes());
    }
}

/// Appends the size of a type as text: `variable`, or its bytes.
pub(super) fn append_size(out: &mut Vec<u8>, size: u16) {
    match size {
        VARIABLE => out.extend(b"variable"),
        size => out.extend(size.to_string().bytes()),
    }
}

/// Returns the next four bytes as a number.
fn mark(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.first_chunk()?))
}

/// Returns the place after `at` where reading can continue: a declaration, or one of the marks
/// after them. If there is none, that is the end of the log.
fn next_mark(bytes: &mut LogBytes<'_>, at: u64) -> io::Result<u64> {
    let found = scan(bytes, at + 1, 8, |here, _| {
        mark(here).is_some_and(|mark| matches!(mark, TYPE_BEGIN | TYPES_END | DATA_BEGIN))
    })?;
    Ok(found.unwrap_or(bytes.len()))
}

/// Returns the first place from `from` on that passes a test. The test gets the bytes from there
/// on, `least` of them or all that remain, and the place.
pub(super) fn scan(
    bytes: &mut LogBytes<'_>,
    from: u64,
    least: usize,
    mut test: impl FnMut(&[u8], u64) -> bool,
) -> io::Result<Option<u64>> {
    let (mut at, len) = (from, bytes.len());
    while at < len {
        let here = bytes.at(at, least + STEP as usize)?;
        let is_last = at + here.len() as u64 >= len;
        let places = if is_last { here.len() } else { here.len().saturating_sub(least) };
        for place in 0..places {
            if test(here.get(place..).unwrap_or_default(), at + place as u64) {
                return Ok(Some(at + place as u64));
            }
        }
        if is_last || places == 0 {
            break;
        }
        at += places as u64;
    }
    Ok(None)
}
