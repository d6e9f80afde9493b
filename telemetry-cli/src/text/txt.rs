//! The text of MPS's `mpseventtxt`: of events, and of lines of `cnv` text with their registry.

use telemetry_decode::{Event, Value};
use telemetry_schema::{Count, Registry, Type};

use super::cnv_line::{CnvLine, Wrong};
use super::number::{hex, hex_4, hex_16, signed_decimal};
use super::{cnv, decimal, float, names, quoted};

/// Width of the column of names.
const NAME_WIDTH: usize = 19;

/// Appends the line of an event: clock reading, code, name, and `ident:value ` for each parameter.
pub(crate) fn line(out: &mut Vec<u8>, event: &Event<'_>) {
    head(out, event.ticks, event.schema.code, &event.schema.name);
    for param in event.params() {
        let ty = event.registry.ty(param.schema.sort);
        out.extend_from_slice(param.schema.name.as_bytes());
        out.push(b':');
        match param.value {
            Value::Array(array) => {
                out.push(b'[');
                for (index, value) in array.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    scalar(out, &value, ty);
                    name_of(out, event, &value);
                }
                out.push(b']');
            }
            value => {
                scalar(out, &value, ty);
                name_of(out, event, &value);
            }
        }
        out.push(b' ');
    }
    out.push(b'\n');
}

/// Appends the name that an address had when the event was emitted.
fn name_of(out: &mut Vec<u8>, event: &Event<'_>, value: &Value<'_>) {
    let Some(number) = event.name_of_value(value) else { return };
    out.push(b'[');
    match event.label(number) {
        Some(text) => quoted::quoted(out, text.as_bytes()),
        None => {
            out.extend_from_slice(b"unknown label ");
            hex(out, number);
        }
    }
    out.push(b']');
}

/// Appends the same line for a line of `cnv` text. The first registry that has the code counts; a code
/// that none has is an unknown event, as to `mpseventtxt`. Nothing is appended if the line is wrong.
pub(crate) fn line_of_cnv(
    out: &mut Vec<u8>,
    text: &[u8],
    registries: &[Registry],
    scratch: &mut Vec<u8>,
) -> Result<(), Wrong> {
    let start = out.len();
    let appended = append_line_of_cnv(out, text, registries, scratch);
    if appended.is_err() {
        out.truncate(start);
    }
    appended
}

fn append_line_of_cnv(
    out: &mut Vec<u8>,
    text: &[u8],
    registries: &[Registry],
    scratch: &mut Vec<u8>,
) -> Result<(), Wrong> {
    let mut line = CnvLine::new(text);
    let ticks = line.clock()?;
    let code = line.code()?;
    let found = registries.iter().find_map(|registry| Some((registry, registry.event(code)?)));
    let Some((registry, event)) = found else {
        head(out, ticks, code, "[Unknown]");
        out.extend_from_slice(b"Unknown event.\n");
        return Ok(());
    };
    head(out, ticks, code, &event.name);
    for param in &event.params {
        line.space(&param.name)?;
        let (ty, repr) = (registry.ty(param.sort), registry.repr(param.sort));
        out.extend_from_slice(param.name.as_bytes());
        out.push(b':');
        match param.count {
            Count::One => scalar(out, &line.value(param.sort, repr, scratch)?, ty),
            Count::Fixed(_) | Count::UpTo(_) => {
                out.push(b'[');
                let mut index = 0;
                while line.has_element(index)? {
                    if index > 0 {
                        out.push(b',');
                    }
                    scalar(out, &line.value(param.sort, repr, scratch)?, ty);
                    index += 1;
                }
                out.push(b']');
            }
        }
        out.push(b' ');
    }
    line.end(&event.name)?;
    out.push(b'\n');
    Ok(())
}

fn head(out: &mut Vec<u8>, ticks: u64, code: u16, name: &str) {
    hex_16(out, ticks);
    out.push(b' ');
    hex_4(out, code);
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.resize(out.len() + NAME_WIDTH.saturating_sub(name.len()) + 1, b' ');
}

fn scalar(out: &mut Vec<u8>, value: &Value<'_>, ty: Option<&Type>) {
    match *value {
        Value::Pointer(n) | Value::Addr(n) | Value::Word(n) | Value::Label(n) => hex_16(out, n),
        Value::Unsigned(n) => decimal(out, n),
        Value::Signed(n) => signed_decimal(out, n),
        Value::Bool(b) => out.extend_from_slice(if b { b"True" } else { b"False" }),
        // The number of the `cnv` text, so that both ways to this text give the same.
        Value::F32(x) => float::general_3(out, float::rounded_10(x.into())),
        Value::F64(x) => float::general_3(out, float::rounded_10(x)),
        Value::String(text) => quoted::quoted(out, text.0),
        Value::Bytes(bytes) => cnv::quoted_bytes(out, bytes),
        Value::Named(named) => names::named(out, named.number(), ty),
        // Arrays have no arrays in them.
        Value::Array(_) => {}
    }
}
