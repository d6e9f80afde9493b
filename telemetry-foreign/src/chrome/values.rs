//! Values of parameters as JSON.

use telemetry_decode::{Event, RawStr, Value};

use crate::common::json::{address, float, number, signed, text};
use crate::timeline::Reading;

/// Appends the parameters of an event, each after its name, which is JSON already.
#[inline]
pub(super) fn arguments(out: &mut Vec<u8>, event: &Event<'_>, names: &[Box<[u8]>]) {
    for (index, (value, name)) in event.values().zip(names).enumerate() {
        out.extend_from_slice(name);
        put(out, event, index, &value);
        out.push(b',');
    }
}

/// Appends a value of a counter.
pub(super) fn reading(out: &mut Vec<u8>, reading: Reading) {
    match reading {
        Reading::Whole(plain) => signed(out, plain),
        Reading::F32(x) => float(out, x.into(), format_args!("{x:?}")),
        Reading::F64(x) => float(out, x, format_args!("{x:?}")),
    }
}

fn put(out: &mut Vec<u8>, event: &Event<'_>, index: usize, value: &Value<'_>) {
    match *value {
        Value::Pointer(at) | Value::Addr(at) => {
            match event.name_of_value(value).and_then(|name| name.text()) {
                Some(name) => text(out, format!("{at:#x} {name}").as_bytes()),
                None => address(out, at),
            }
        }
        Value::Word(plain) | Value::Unsigned(plain) => {
            let numbers = event.has_numbers().then(|| event.numbers(index)).flatten();
            match numbers.and_then(|numbers| event.string_of(numbers, value)) {
                Some(string) => text(out, string.as_bytes()),
                None => number(out, plain),
            }
        }
        Value::Signed(plain) => signed(out, plain),
        Value::F32(x) => float(out, x.into(), format_args!("{x:?}")),
        Value::F64(x) => float(out, x, format_args!("{x:?}")),
        Value::Bool(truth) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
        Value::Label(label) => match event.label(label) {
            Some(string) => text(out, string.as_bytes()),
            None => number(out, label),
        },
        Value::Named(named) => match named.name() {
            Some(name) => text(out, name.as_bytes()),
            None => text(out, named.to_string().as_bytes()),
        },
        Value::String(RawStr(string)) => text(out, string),
        Value::Bytes(_) => text(out, value.to_string().as_bytes()),
        Value::Array(array) => {
            out.push(b'[');
            for (at, element) in array.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                put(out, event, index, &element);
            }
            out.push(b']');
        }
    }
}
