//! Values of parameters as arguments.

use telemetry_decode::{Event, RawStr, Value};

use super::fields::{annotation, event};
use super::names::Names;
use crate::common::proto::{bytes, fixed, message, number};

/// Appends the parameters of an event, by the numbers of their names.
#[inline]
pub(super) fn annotations(out: &mut Vec<u8>, from: &Event<'_>, params: &[u64], names: &mut Names) {
    for (index, (value, name)) in from.values().zip(params).enumerate() {
        annotation(out, *name, |out| put(out, from, index, &value, names));
    }
}

/// Appends an argument.
#[inline]
pub(super) fn annotation(out: &mut Vec<u8>, name: u64, write: impl FnOnce(&mut Vec<u8>)) {
    message(out, event::ANNOTATION, |out| {
        number(out, annotation::NAME, name);
        write(out);
    });
}

#[inline]
fn put(out: &mut Vec<u8>, event: &Event<'_>, index: usize, value: &Value<'_>, names: &mut Names) {
    match *value {
        Value::Pointer(address) | Value::Addr(address) => match event.name_of_value(value) {
            Some(name) => match name.text() {
                Some(text) => string(out, &format!("{address:#x} {text}"), names),
                None => number(out, annotation::POINTER, address),
            },
            None => number(out, annotation::POINTER, address),
        },
        Value::Word(_) | Value::Unsigned(_) => unsigned(out, event, index, value, names),
        Value::Signed(signed) => number(out, annotation::SIGNED, signed as u64),
        Value::F32(x) => fixed(out, annotation::DOUBLE, f64::from(x).to_bits()),
        Value::F64(x) => fixed(out, annotation::DOUBLE, x.to_bits()),
        Value::Bool(truth) => number(out, annotation::BOOL, truth.into()),
        Value::Label(label) => match event.label(label) {
            Some(text) => string(out, text, names),
            None => number(out, annotation::UNSIGNED, label),
        },
        Value::Named(named) => match named.name() {
            Some(name) => string(out, name, names),
            None => string(out, &named.to_string(), names),
        },
        Value::String(RawStr(text)) => {
            bytes(out, annotation::STRING, String::from_utf8_lossy(text).as_bytes())
        }
        Value::Bytes(_) => bytes(out, annotation::STRING, value.to_string().as_bytes()),
        Value::Array(array) => {
            for element in array.iter() {
                message(out, annotation::ARRAY, |out| put(out, event, index, &element, names));
            }
        }
    }
}

#[inline]
fn unsigned(out: &mut Vec<u8>, event: &Event<'_>, index: usize, value: &Value<'_>, names: &mut Names) {
    let text = match event.has_numbers() {
        true => event.numbers(index).and_then(|numbers| event.string_of(numbers, value)),
        false => None,
    };
    match text {
        Some(text) => string(out, text, names),
        None => number(out, annotation::UNSIGNED, value.as_u64().unwrap_or_default()),
    }
}

fn string(out: &mut Vec<u8>, text: &str, names: &mut Names) {
    match names.string(text) {
        Some(id) => number(out, annotation::INTERNED_STRING, id),
        None => bytes(out, annotation::STRING, text.as_bytes()),
    }
}
