//! The text of the MPS's `mpseventcnv`, which `sort` and [`super::cnv_line`] read.

use telemetry_decode::{Event, EventBatch, KnownRegistry, Value};
use telemetry_foreign::mps;
use telemetry_report::figures::keyed::PerEvent;
use telemetry_schema::{Count, Sort};

use super::number::{UpperHalf, hex, hex_4_spaces, hex_8, hex_16, hex_at, hex_bytes, signed_hex};
use super::{float, quoted};

/// The most bytes of a code with the name of its registry, and the most numbers, of an event whose
/// line is made in place.
const MAX_CODE: usize = 24;
const MAX_NUMBERS: usize = 6;

/// The clock reading and a space.
const CLOCK: usize = 17;

/// The most bytes of a line that is made in place, and a few more, because numbers of any length
/// are stored as the longest.
const ROOM: usize = CLOCK + MAX_CODE + 17 * MAX_NUMBERS + 1;

/// Number of lines for which there is room at once.
const LINES: usize = 16;

/// Appends lines, and caches their common parts.
pub(crate) struct CnvPrinter {
    styles: PerEvent<Style>,
    /// The last clock reading as text. Events that inherit their times have the same.
    clock: (u64, [u8; CLOCK]),
    /// Of the last large number.
    upper: UpperHalf,
    /// Where lines are made, before they are appended.
    room: Box<[u8; ROOM * LINES]>,
}

/// The parts that are the same in all events of a code.
struct Style {
    /// The name of the registry is before the code.
    is_named: bool,
    code: [u8; MAX_CODE],
    code_len: usize,
    /// The number of values, if all are whole numbers without a sign. Most events are so, and their
    /// lines are made in place.
    numbers: Option<usize>,
}

impl CnvPrinter {
    pub(crate) fn new() -> CnvPrinter {
        CnvPrinter {
            styles: PerEvent::default(),
            clock: (0, clock_text(0)),
            upper: UpperHalf::new(0),
            room: Box::new([0; ROOM * LINES]),
        }
    }

    /// Appends the lines of events: clock reading, code, and a space before each value. The name of
    /// the registry precedes the code with `:` if `is_named`.
    pub(crate) fn lines(&mut self, out: &mut Vec<u8>, batch: &EventBatch<'_>, is_named: bool) {
        let known = batch.known_registry();
        let styles = self.styles.of_registry(known);
        let (mut ticks, mut clock) = self.clock;
        let mut upper = self.upper;
        let room = &mut self.room[..];
        let mut rows = batch.rows();
        let mut left = batch.len();
        while left > 0 {
            let (mut at, mut other) = (0, None);
            // A line that has its room needs few checks.
            while let Some(line) = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<ROOM>) {
                let Some(row) = rows.next() else { break };
                left -= 1;
                let style = match styles.get(row.index as usize) {
                    Some(Some(style)) if style.is_named == is_named => style,
                    _ => Style::make(styles, known, row.index as usize, is_named),
                };
                let Some(numbers) = style.numbers else {
                    other = Some(row);
                    break;
                };
                if row.ticks != ticks {
                    // The upper half changes every few seconds.
                    if row.ticks >> 32 != ticks >> 32 {
                        clock = clock_text(row.ticks);
                    }
                    clock[8..16].copy_from_slice(&hex_8(row.ticks as u32));
                    ticks = row.ticks;
                }
                at += line_in_place(line, &clock, style, row.all_bits().take(numbers), &mut upper);
            }
            out.extend_from_slice(room.get(..at).unwrap_or_default());
            if let Some(row) = other {
                self::line(out, &batch.event(&row), is_named);
            }
        }
        (self.clock, self.upper) = ((ticks, clock), upper);
    }
}

/// Stores the line of an event of whole numbers. Returns its length.
#[inline(always)]
fn line_in_place(
    line: &mut [u8; ROOM],
    clock: &[u8; CLOCK],
    style: &Style,
    numbers: impl Iterator<Item = u64>,
    upper: &mut UpperHalf,
) -> usize {
    line[..CLOCK].copy_from_slice(clock);
    line[CLOCK..CLOCK + MAX_CODE].copy_from_slice(&style.code);
    let mut at = CLOCK + style.code_len;
    for number in numbers {
        if let Some(place) = line.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<17>) {
            at += hex_at(place, number, upper);
        }
    }
    if let Some(end) = line.get_mut(at) {
        *end = b'\n';
    }
    at + 1
}

impl Style {
    /// Makes the style of an event of a registry.
    #[cold]
    #[inline(never)]
    fn make<'s>(
        styles: &'s mut [Option<Style>],
        known: &KnownRegistry,
        index: usize,
        is_named: bool,
    ) -> &'s Style {
        styles[index].insert(Style::new(known, index, is_named))
    }

    fn new(known: &KnownRegistry, index: usize, is_named: bool) -> Style {
        let registry = &known.registry;
        let event = &registry.events[index];
        let mut text = Vec::new();
        code(&mut text, event.code, is_named.then_some(registry.name.as_str()));
        let is_plain = |param: &telemetry_schema::Param| {
            let sort = registry.repr(param.sort);
            param.count == Count::One
                && matches!(
                    sort,
                    Sort::Pointer
                        | Sort::Addr
                        | Sort::Word
                        | Sort::Label
                        | Sort::U8
                        | Sort::U16
                        | Sort::U32
                        | Sort::U64
                )
        };
        let is_plain = registry.name != mps::UNKNOWN_REGISTRY
            && text.len() <= MAX_CODE
            && event.params.len() <= MAX_NUMBERS
            && event.params.iter().all(is_plain);
        let mut style = Style { is_named, code: [0; MAX_CODE], code_len: 0, numbers: None };
        if is_plain {
            style.code[..text.len()].copy_from_slice(&text);
            (style.code_len, style.numbers) = (text.len(), Some(event.params.len()));
        }
        style
    }
}

/// Returns a clock reading as `%016X`, and a space.
fn clock_text(ticks: u64) -> [u8; CLOCK] {
    let mut text = [b' '; CLOCK];
    text[..16].copy_from_slice(&hex_16(ticks));
    text
}

/// Appends a code as `%4X`, or behind the name of its registry as `%X`.
fn code(out: &mut Vec<u8>, code: u16, registry: Option<&str>) {
    match registry {
        None => hex_4_spaces(out, code),
        Some(name) => {
            out.extend_from_slice(name.as_bytes());
            out.push(b':');
            hex(out, code.into());
        }
    }
}

/// Appends the line of an event.
#[inline(never)]
fn line(out: &mut Vec<u8>, event: &Event<'_>, is_named: bool) {
    out.extend_from_slice(&clock_text(event.ticks()));
    if let Some(code) = mps::unknown_code(event) {
        // As in `mpseventcnv`, since its values are not known.
        hex_4_spaces(out, code);
        out.push(b'\n');
        return;
    }
    code(out, event.schema().code, is_named.then_some(event.registry().name.as_str()));
    for value in event.values() {
        out.push(b' ');
        match value {
            Value::String(text) if mps::has_names(event.registry()) => quoted::quoted_raw(out, text.0),
            value => self::value(out, &value),
        }
    }
    out.push(b'\n');
}

#[inline]
pub(super) fn value(out: &mut Vec<u8>, value: &Value<'_>) {
    match *value {
        Value::Pointer(n) | Value::Addr(n) | Value::Word(n) | Value::Label(n) | Value::Unsigned(n) => {
            hex(out, n)
        }
        Value::Bool(b) => out.push(b'0' + u8::from(b)),
        Value::Signed(n) => signed_hex(out, n),
        Value::F32(x) => float::general_10(out, x.into()),
        Value::F64(x) => float::general_10(out, x),
        Value::String(text) => quoted::quoted(out, text.0),
        Value::Bytes(bytes) => quoted_bytes(out, bytes),
        Value::Named(named) => match u64::try_from(named.number()) {
            Ok(number) => hex(out, number),
            Err(_) => signed_hex(out, named.number() as i64),
        },
        Value::Array(array) => {
            out.push(b'[');
            for (index, value) in array.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                self::value(out, &value);
            }
            out.push(b']');
        }
    }
}

/// Appends two digits for each byte, in quotes, so that an empty value is visible.
pub(super) fn quoted_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    hex_bytes(out, bytes);
    out.push(b'"');
}
