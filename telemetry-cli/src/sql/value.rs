//! Values as SQLite stores them: docs/sql.md has the table.

use std::io::Write;

use telemetry_decode::Value;

use super::insert::Insert;

/// Appends a value to a row.
#[inline]
pub(super) fn push(row: &mut Insert<'_>, value: &Value<'_>) {
    match *value {
        // Numbers of 64 bits keep their bits, so those from 2^63 on are negative.
        Value::Pointer(n) | Value::Addr(n) | Value::Word(n) | Value::Unsigned(n) | Value::Label(n) => {
            row.integer(n as i64);
        }
        Value::Signed(n) => row.integer(n),
        Value::Bool(b) => row.integer(b.into()),
        Value::Named(named) => row.integer(named.number() as i64),
        Value::F32(x) => real(row, x.into()),
        Value::F64(x) => real(row, x),
        Value::String(text) if std::str::from_utf8(text.0).is_ok() => {
            row.text(|all| all.extend_from_slice(text.0))
        }
        // Readers do not accept text that is not UTF-8.
        Value::String(text) => row.blob(text.0),
        Value::Bytes(bytes) => row.blob(bytes),
        Value::Array(array) => row.text(|out| {
            out.push(b'[');
            for (index, value) in array.iter().enumerate() {
                element(out, index, &value);
            }
            out.push(b']');
        }),
    }
}

/// Adds a float. SQLite has no NaN.
fn real(row: &mut Insert<'_>, x: f64) {
    if x.is_nan() { row.null() } else { row.real(x) }
}

/// Appends an element of an array as JSON text that `json_each` returns like a column.
pub(super) fn element(out: &mut Vec<u8>, index: usize, value: &Value<'_>) {
    if index > 0 {
        out.push(b',');
    }
    let float = match *value {
        Value::F32(x) => f64::from(x),
        Value::F64(x) => x,
        // Strings, bytes and arrays cannot be in arrays.
        _ => {
            let number = value.as_i128().unwrap_or_default() as i64;
            // Writing to memory cannot fail.
            let _ = write!(out, "{number}");
            return;
        }
    };
    let _ = match float {
        x if x.is_nan() => write!(out, "null"),
        // SQLite writes and reads an infinity like this.
        x if x.is_infinite() => write!(out, "{}9e999", if x < 0.0 { "-" } else { "" }),
        x => write!(out, "{x:?}"),
    };
}
