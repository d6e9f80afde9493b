//! Events as comma-separated values, quoted by RFC 4180. Lines end in a line feed.

use std::io::Write;

use telemetry_decode::{Event, Value};

use super::number::decimal;
use super::number::{hex_bytes_lower, hex_lower, signed_decimal};
use super::{json, names};

/// Appends a field, quoted if necessary.
pub(crate) fn field(out: &mut Vec<u8>, text: &[u8]) {
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    let is_plain = !text.iter().any(is_special) && !text.first().is_some_and(u8::is_ascii_whitespace);
    if is_plain && text.last().is_none_or(|byte| !byte.is_ascii_whitespace()) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for part in text.split_inclusive(|byte| *byte == b'"') {
        out.extend_from_slice(part);
        if part.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

/// Appends the field of a value. Labels are their strings, strings are unchanged, arrays are as in
/// JSON.
pub(crate) fn value(out: &mut Vec<u8>, event: &Event<'_>, value: &Value<'_>, scratch: &mut Vec<u8>) {
    match *value {
        Value::Label(n) => match event.label(n) {
            Some(label) => text(out, label.as_bytes(), scratch),
            None => decimal(out, n),
        },
        Value::String(string) => text(out, string.0, scratch),
        Value::Bytes(bytes) => hex_bytes_lower(out, bytes),
        Value::Array(_) => {
            scratch.clear();
            json::value(scratch, event, value, false);
            field(out, scratch);
        }
        _ => number(out, value),
    }
}

/// Appends the field of a number: decimal, hexadecimal for addresses, by name for enums and flags.
#[inline]
pub(crate) fn number(out: &mut Vec<u8>, value: &Value<'_>) {
    match *value {
        Value::Pointer(n) | Value::Addr(n) => {
            out.extend_from_slice(b"0x");
            hex_lower(out, n);
        }
        Value::Label(n) | Value::Word(n) | Value::Unsigned(n) => decimal(out, n),
        Value::Signed(n) => signed_decimal(out, n),
        Value::F32(x) => float(out, x.is_nan(), x),
        Value::F64(x) => float(out, x.is_nan(), x),
        Value::Bool(b) => out.extend_from_slice(if b { b"true" } else { b"false" }),
        Value::Named(named) => names::named(out, named.number(), named.ty()),
        Value::String(_) | Value::Bytes(_) | Value::Array(_) => {}
    }
}

fn float(out: &mut Vec<u8>, is_nan: bool, x: impl std::fmt::Debug) {
    if is_nan {
        out.extend_from_slice(b"nan");
    } else {
        // Also `inf` and `-inf`. Writing to memory cannot fail.
        let _ = write!(out, "{x:?}");
    }
}

/// Appends text, in quotes if empty. Bytes that are not UTF-8 become `\xNN`.
fn text(out: &mut Vec<u8>, text: &[u8], scratch: &mut Vec<u8>) {
    if text.is_empty() {
        // Without quotes, an empty field means that there is no value.
        return out.extend_from_slice(b"\"\"");
    }
    if std::str::from_utf8(text).is_ok() {
        return field(out, text);
    }
    scratch.clear();
    for chunk in text.utf8_chunks() {
        scratch.extend_from_slice(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            let _ = write!(scratch, "\\x{byte:02x}");
        }
    }
    field(out, scratch);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let table: [(&str, &str); 9] = [
            ("", ""),
            ("plain", "plain"),
            ("two words", "two words"),
            ("a,b", "\"a,b\""),
            ("say \"no\"", "\"say \"\"no\"\"\""),
            ("\"", "\"\"\"\""),
            ("two\nlines\r", "\"two\nlines\r\""),
            (" before", "\" before\""),
            ("behind ", "\"behind \""),
        ];
        for (plain, expected) in table {
            let mut out = Vec::new();
            field(&mut out, plain.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
        let (mut out, mut scratch) = (Vec::new(), Vec::new());
        text(&mut out, b"a\xff,b", &mut scratch);
        assert_eq!(out, b"\"a\\xff,b\"");
    }
}
