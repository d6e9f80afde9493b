//! The text of the MPS's `mpseventtxt`.

use telemetry_decode::{Event, Labels, Value};
use telemetry_foreign::mps;
use telemetry_schema::Type;

use super::number::decimal;
use super::number::{hex, hex_4, hex_16, signed_decimal};
use super::{cnv, float, names, param, quoted};

/// Width of the column of names.
const NAME_WIDTH: usize = 19;

/// Appends the line of an event: clock reading, code, name, and `ident:value ` for each parameter.
/// The name of its registry precedes the event's name with `:` if `is_named`.
pub(crate) fn line(out: &mut Vec<u8>, event: &Event<'_>, is_named: bool) {
    if let Some(code) = mps::unknown_code(event) {
        return unknown(out, event.ticks(), code);
    }
    let registry = is_named.then_some(event.registry().name.as_str());
    head(out, event.ticks(), event.schema().code, registry, &event.schema().name);
    let labels = &event.session().labels;
    for param in event.params() {
        let ty = event.registry().ty(param.schema.sort);
        param::append(out, event.registry(), &param.schema.name);
        out.push(b':');
        match param.value {
            Value::Array(array) => {
                out.push(b'[');
                for (index, value) in array.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    labeled(out, &value, ty, labels, event.ticks());
                }
                out.push(b']');
            }
            value => labeled(out, &value, ty, labels, event.ticks()),
        }
        out.push(b' ');
    }
    out.push(b'\n');
}

/// Appends a value. If it is an address that had a name at the clock reading, the name follows.
pub(super) fn labeled(out: &mut Vec<u8>, value: &Value<'_>, ty: Option<&Type>, labels: &Labels, ticks: u64) {
    scalar(out, value, ty);
    let Some(name) = labels.name_of_value(value, ticks) else { return };
    out.push(b'[');
    if let Some(text) = name.text() {
        quoted::quoted(out, text.as_bytes());
    } else if let Some(number) = name.number() {
        out.extend_from_slice(b"unknown label ");
        hex(out, number);
    }
    out.push(b']');
}

/// Appends the line of an event whose code is in no registry, as `mpseventtxt` does.
pub(super) fn unknown(out: &mut Vec<u8>, ticks: u64, code: u16) {
    head(out, ticks, code, None, "[Unknown]");
    out.extend_from_slice(b"Unknown event.\n");
}

pub(super) fn head(out: &mut Vec<u8>, ticks: u64, code: u16, registry: Option<&str>, name: &str) {
    out.extend_from_slice(&hex_16(ticks));
    out.push(b' ');
    hex_4(out, code);
    out.push(b' ');
    let start = out.len();
    if let Some(registry) = registry {
        out.extend_from_slice(registry.as_bytes());
        out.push(b':');
    }
    out.extend_from_slice(name.as_bytes());
    out.resize(out.len() + NAME_WIDTH.saturating_sub(out.len() - start) + 1, b' ');
}

pub(super) fn scalar(out: &mut Vec<u8>, value: &Value<'_>, ty: Option<&Type>) {
    match *value {
        Value::Pointer(n) | Value::Addr(n) | Value::Word(n) | Value::Label(n) => {
            out.extend_from_slice(&hex_16(n));
        }
        Value::Unsigned(n) => decimal(out, n),
        Value::Signed(n) => signed_decimal(out, n),
        Value::Bool(b) => out.extend_from_slice(if b { b"True" } else { b"False" }),
        // This is the number in the `cnv` text, so that both ways give the same text.
        Value::F32(x) => float::general_3(out, float::rounded_10(x.into())),
        Value::F64(x) => float::general_3(out, float::rounded_10(x)),
        Value::String(text) => quoted::quoted(out, text.0),
        Value::Bytes(bytes) => cnv::quoted_bytes(out, bytes),
        Value::Named(named) => names::named(out, named.number(), ty),
        // Arrays do not contain arrays.
        Value::Array(_) => {}
    }
}
