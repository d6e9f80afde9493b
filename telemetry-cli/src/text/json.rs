//! Events as JSON: one object per line. docs/json.md describes the form, and
//! `docs/event.schema.json` checks it.

use telemetry_decode::{AddressName, Event, Value};
use telemetry_schema::{Sort, Type, TypeForm};

use super::message::{self, Part};
use super::names;
use super::number::decimal;
use super::number::{hex_bytes_lower, hex_lower, signed_decimal};
use crate::text::date::Moments;
use telemetry_report::figures::keyed::{PerEvent, PerThread};

/// Raise the version when a member changes its form or meaning. A new member does not need it.
const START: &[u8] = b"{\"version\":1,\"time_ns\":";

/// Appends lines, and caches their common parts.
pub(crate) struct JsonPrinter {
    /// Writes 64-bit numbers as strings.
    quotes: bool,
    heads: PerEvent<Head>,
    threads: PerThread<Vec<u8>>,
    moments: Moments,
}

/// The parts that are the same in all events of a code.
struct Head {
    /// Registry, kind, event and message, up to the parameters.
    event: Vec<u8>,
    params: Vec<Param>,
}

struct Param {
    /// The name with its punctuation.
    name: Vec<u8>,
    quotes: bool,
}

impl JsonPrinter {
    /// Makes a printer. With `quotes`, 64-bit numbers become strings.
    pub(crate) fn new(quotes: bool) -> JsonPrinter {
        JsonPrinter {
            quotes,
            heads: PerEvent::default(),
            threads: PerThread::default(),
            moments: Moments::default(),
        }
    }

    /// Makes a printer of the same form, for another thread.
    pub(crate) fn another(&self) -> JsonPrinter {
        JsonPrinter::new(self.quotes)
    }

    /// Appends the line of an event.
    pub(crate) fn line(&mut self, out: &mut Vec<u8>, event: &Event<'_>) {
        out.extend_from_slice(START);
        number(out, self.quotes, |out| signed_decimal(out, event.time_ns()));
        out.extend_from_slice(b",\"time\":\"");
        self.moments.append(out, event.wall_ns());
        out.push(b'"');
        out.extend_from_slice(self.threads.get(event, thread));
        let quotes = self.quotes;
        let head = self.heads.get(event, |event| Head::new(event, quotes));
        out.extend_from_slice(&head.event);
        for (value, param) in event.values().zip(&head.params) {
            out.extend_from_slice(&param.name);
            self::value(out, event, &value, param.quotes);
        }
        out.push(b'}');
        if event.session().labels.names() > 0 {
            names_of_addresses(out, event);
        }
        if event.has_numbers() {
            strings_of_numbers(out, event);
        }
        out.extend_from_slice(b"}\n");
    }
}

impl Head {
    fn new(event: &Event<'_>, quotes: bool) -> Head {
        let mut head = Vec::new();
        let names = [
            ("registry", &event.registry().name),
            ("kind", &event.kind().name),
            ("event", &event.schema().name),
        ];
        for (key, name) in names {
            // Names in registries need no escapes.
            head.extend_from_slice(format!(",\"{key}\":\"{name}\"").as_bytes());
        }
        if let Some((name, part)) = message::of(event) {
            head.extend_from_slice(format!(",\"message\":\"{name}\"").as_bytes());
            let part: &[u8] = match part {
                Part::Begin => b",\"message_part\":\"begin\"",
                Part::End => b",\"message_part\":\"end\"",
                Part::Whole => b"",
            };
            head.extend_from_slice(part);
        }
        head.extend_from_slice(b",\"params\":{");
        let of_param = |(index, param): (usize, &telemetry_schema::Param)| {
            let comma = if index == 0 { "" } else { "," };
            let name = format!("{comma}\"{}\":", param.name).into_bytes();
            Param { name, quotes: quotes && is_wide(event.registry().repr(param.sort)) }
        };
        Head { event: head, params: event.schema().params.iter().enumerate().map(of_param).collect() }
    }
}

/// Returns true if a sort has numbers above 2^53, which some readers of JSON round.
fn is_wide(sort: Sort) -> bool {
    // Pointers and addresses are strings already.
    matches!(sort, Sort::Word | Sort::U64 | Sort::I64 | Sort::Label)
}

/// Returns the members of session and thread.
fn thread(event: &Event<'_>) -> Vec<u8> {
    let mut out = format!(
        ",\"session\":\"{:016x}\",\"thread\":{},\"thread_name\":",
        event.session().id,
        event.thread()
    )
    .into_bytes();
    match event.thread_name() {
        Some(name) => string(&mut out, name.as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
    out
}

/// Appends a value. With `quotes`, 64-bit numbers are strings.
pub(crate) fn value(out: &mut Vec<u8>, event: &Event<'_>, value: &Value<'_>, quotes: bool) {
    match *value {
        Value::Pointer(n) | Value::Addr(n) => {
            out.extend_from_slice(b"\"0x");
            hex_lower(out, n);
            out.push(b'"');
        }
        Value::Label(n) => match event.label(n) {
            Some(text) => string(out, text.as_bytes()),
            None => number(out, quotes, |out| decimal(out, n)),
        },
        Value::Word(n) | Value::Unsigned(n) => number(out, quotes, |out| decimal(out, n)),
        Value::Signed(n) => number(out, quotes, |out| signed_decimal(out, n)),
        Value::F32(x) => float(out, x.is_finite(), x.into(), x),
        Value::F64(x) => float(out, x.is_finite(), x, x),
        Value::Bool(b) => out.extend_from_slice(if b { b"true" } else { b"false" }),
        Value::String(text) => string(out, text.0),
        Value::Bytes(bytes) => {
            out.push(b'"');
            hex_bytes_lower(out, bytes);
            out.push(b'"');
        }
        Value::Named(named) => match named.ty() {
            Some(ty) if ty.form == TypeForm::Flags => flags(out, named.number(), ty),
            ty => match ty.and_then(|ty| ty.value(named.number())) {
                Some(value) => string(out, value.name.as_bytes()),
                None => number(out, quotes, |out| names::named(out, named.number(), None)),
            },
        },
        Value::Array(array) => {
            out.push(b'[');
            for (index, element) in array.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                self::value(out, event, &element, quotes);
            }
            out.push(b']');
        }
    }
}

/// Appends an array of the flags that are set. Bits without a name are one hexadecimal string.
fn flags(out: &mut Vec<u8>, number: i128, ty: &Type) {
    out.push(b'[');
    let start = out.len();
    names::each_flag(number as u64, ty, |name| {
        if out.len() > start {
            out.push(b',');
        }
        out.push(b'"');
        match name {
            names::Flag::Named(name) => out.extend_from_slice(name.as_bytes()),
            names::Flag::Bits(bits) => {
                out.extend_from_slice(b"0x");
                hex_lower(out, bits);
            }
        }
        out.push(b'"');
    });
    out.push(b']');
}

#[inline(always)]
fn number(out: &mut Vec<u8>, quotes: bool, append: impl FnOnce(&mut Vec<u8>)) {
    if quotes {
        out.push(b'"');
        append(out);
        out.push(b'"');
    } else {
        append(out);
    }
}

/// Appends the shortest digits that give the number again. Infinities and NaN are strings, since
/// JSON has no numbers for them.
fn float(out: &mut Vec<u8>, is_finite: bool, x: f64, shown: impl std::fmt::Debug) {
    use std::io::Write;
    if is_finite {
        // Writing to memory cannot fail.
        let _ = write!(out, "{shown:?}");
    } else {
        out.extend_from_slice(if x.is_nan() {
            b"\"NaN\""
        } else if x > 0.0 {
            b"\"Infinity\""
        } else {
            b"\"-Infinity\""
        });
    }
}

/// Appends a string, or an object with bytes that are not UTF-8.
fn string(out: &mut Vec<u8>, text: &[u8]) {
    if text.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        out.push(b'"');
        out.extend_from_slice(text);
        out.push(b'"');
        return;
    }
    match std::str::from_utf8(text) {
        // A string serializes, and writing to memory cannot fail.
        Ok(text) => drop(serde_json::to_writer(out, text)),
        Err(_) => {
            out.extend_from_slice(b"{\"hex\":\"");
            hex_bytes_lower(out, text);
            out.extend_from_slice(b"\"}");
        }
    }
}

/// Returns the form that [`string`] appends.
pub(crate) fn string_value(text: &[u8]) -> serde_json::Value {
    match std::str::from_utf8(text) {
        Ok(text) => text.into(),
        Err(_) => {
            let mut hex = Vec::new();
            hex_bytes_lower(&mut hex, text);
            serde_json::json!({ "hex": String::from_utf8_lossy(&hex) })
        }
    }
}

/// Appends the strings of numbers that have some, by parameter. In an array, null stands for an
/// element without one.
fn strings_of_numbers(out: &mut Vec<u8>, event: &Event<'_>) {
    let start = out.len();
    for (index, param) in event.params().enumerate() {
        let Some(numbers) = event.numbers(index) else { continue };
        let before = out.len();
        out.extend_from_slice(if before == start { b",\"strings\":{\"" } else { b",\"" });
        out.extend_from_slice(param.schema.name.as_bytes());
        out.extend_from_slice(b"\":");
        let mut has_some = false;
        let mut append = |out: &mut Vec<u8>, value: &Value<'_>| match event.string_of(numbers, value) {
            Some(text) => {
                has_some = true;
                string(out, text.as_bytes());
            }
            None => out.extend_from_slice(b"null"),
        };
        match param.value {
            Value::Array(array) => {
                for (index, element) in array.iter().enumerate() {
                    out.push(if index == 0 { b'[' } else { b',' });
                    append(out, &element);
                }
                out.push(b']');
            }
            value => append(out, &value),
        }
        if !has_some {
            out.truncate(before);
        }
    }
    if out.len() > start {
        out.push(b'}');
    }
}

/// Appends the names that the event's addresses have at its time, by address.
fn names_of_addresses(out: &mut Vec<u8>, event: &Event<'_>) {
    let mut named: Vec<(u64, AddressName<'_>)> = Vec::new();
    let mut note = |value: &Value<'_>| {
        let (Value::Pointer(address) | Value::Addr(address)) = *value else { return };
        if let Some(name) = event.name_of_value(value)
            && !named.iter().any(|(known, _)| *known == address)
        {
            named.push((address, name));
        }
    };
    for value in event.values() {
        match value {
            Value::Array(array) => array.iter().for_each(|element| note(&element)),
            value => note(&value),
        }
    }
    for (index, (address, name)) in named.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b",\"names\":{" } else { b"," });
        out.extend_from_slice(b"\"0x");
        hex_lower(out, *address);
        out.extend_from_slice(b"\":");
        match name.text() {
            Some(text) => string(out, text.as_bytes()),
            None => decimal(out, name.number().unwrap_or_default()),
        }
    }
    if !named.is_empty() {
        out.push(b'}');
    }
}
