//! The text of the MPS's `mpseventcnv`, which `sort` and [`super::cnv_line`] read.

use telemetry_decode::{Event, Value};
use telemetry_foreign::mps;

use super::number::{Digits, hex, hex_4_spaces, hex_bytes, signed_hex};
use super::{float, quoted};

/// Appends the line of an event: clock reading, code, and a space before each value. The name of
/// its registry, if given, precedes the code with `:`.
#[inline]
pub(crate) fn line(out: &mut Vec<u8>, event: &Event<'_>, registry: Option<&str>) {
    let mut digits = Digits::of_clock(event.ticks());
    if let Some(code) = mps::unknown_code(event) {
        // As in `mpseventcnv`, since its values are not known.
        digits.append_to(out);
        hex_4_spaces(out, code);
        out.push(b'\n');
        return;
    }
    match registry {
        None => digits.code(event.schema().code),
        Some(name) => {
            digits.append_to(out);
            out.extend_from_slice(name.as_bytes());
            out.push(b':');
            hex(out, event.schema().code.into());
        }
    }
    for value in event.values() {
        match value {
            Value::Pointer(n) | Value::Addr(n) | Value::Word(n) | Value::Label(n) | Value::Unsigned(n) => {
                digits.number(out, n);
                continue;
            }
            Value::String(text) if mps::has_names(event.registry()) => {
                digits.append_to(out);
                out.push(b' ');
                quoted::quoted_raw(out, text.0);
            }
            value => {
                digits.append_to(out);
                out.push(b' ');
                self::value(out, &value);
            }
        }
    }
    digits.append_to(out);
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
