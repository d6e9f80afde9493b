//! The parameters of an event type as fields, and their values as bytes.

use std::fmt::Write;

use telemetry_decode::{Event, Value};
use telemetry_schema::{Count, Param, Registry, Sort, TypeForm};

/// A parameter as a field.
#[derive(Debug)]
pub(super) struct Field {
    /// Bytes of an integer.
    width: usize,
    count: Count,
    /// Its numbers stand for strings, which are a field of their own.
    has_texts: bool,
    /// The description of the field, in the language of metadata.
    pub(super) description: String,
}

impl Field {
    /// Describes a parameter. Names begin with an underscore, which readers remove: so no name is
    /// a word of the language.
    pub(super) fn new(event: &Event<'_>, index: usize) -> Field {
        let params = &event.schema().params;
        let param: &Param = &params[index];
        let has_texts = event.has_numbers() && event.numbers(index).is_some();
        let (element, width) = element(event.registry(), param.sort);
        let name = &param.name;
        let other = |end: &str| {
            let mut other = format!("{name}_{end}");
            while params.iter().any(|param| param.name == other) {
                other.push('_');
            }
            other
        };
        let mut description = String::new();
        let len = format!("_{}", other("len"));
        let list = match (param.count, param.sort) {
            (Count::One, Sort::Bytes) | (Count::UpTo(_), _) => format!("[{len}]"),
            (Count::One, _) => String::new(),
            (Count::Fixed(number), _) => format!("[{number}]"),
        };
        if list.ends_with("len]") || list.ends_with("_]") {
            describe(&mut description, &integer(4, false, 10), &len);
        }
        describe(&mut description, &element, &format!("_{name}{list}"));
        if has_texts {
            describe(&mut description, STRING, &format!("_{}{list}", other("text")));
        }
        Field { width, count: param.count, has_texts, description }
    }

    /// Appends the value of a parameter.
    pub(super) fn put(&self, out: &mut Vec<u8>, event: &Event<'_>, index: usize, value: &Value<'_>) {
        match value {
            Value::Array(array) => {
                if let Count::UpTo(_) = self.count {
                    out.extend_from_slice(&(array.len() as u32).to_le_bytes());
                }
                array.iter().for_each(|element| self.put_one(out, event, &element));
                if self.has_texts {
                    array.iter().for_each(|element| put_text(out, event, index, &element));
                }
            }
            Value::Bytes(bytes) => {
                out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                out.extend_from_slice(bytes);
            }
            value => {
                self.put_one(out, event, value);
                if self.has_texts {
                    put_text(out, event, index, value);
                }
            }
        }
    }

    fn put_one(&self, out: &mut Vec<u8>, event: &Event<'_>, value: &Value<'_>) {
        let mut bits = |bits: u64| out.extend_from_slice(&bits.to_le_bytes()[..self.width.min(8)]);
        match value {
            Value::Pointer(number) | Value::Addr(number) => bits(*number),
            Value::Word(number) | Value::Unsigned(number) => bits(*number),
            Value::Signed(number) => bits(*number as u64),
            Value::F32(x) => bits(x.to_bits().into()),
            Value::F64(x) => bits(x.to_bits()),
            Value::Bool(truth) => bits((*truth).into()),
            Value::Named(named) => bits(named.number() as u64),
            Value::Label(label) => match event.label(*label) {
                Some(text) => string(out, text.as_bytes()),
                None => string(out, label.to_string().as_bytes()),
            },
            Value::String(text) => string(out, text.0),
            Value::Bytes(_) | Value::Array(_) => string(out, value.to_string().as_bytes()),
        }
    }
}

/// A text that ends with a NUL.
pub(super) const STRING: &str = "string { encoding = UTF8; }";

/// Describes an integer of some bytes.
pub(super) fn integer(bytes: usize, is_signed: bool, base: u32) -> String {
    format!("integer {{ size = {}; align = 8; signed = {is_signed}; base = {base}; }}", 8 * bytes)
}

/// Appends a text. The NULs in it become spaces, and bytes that are not UTF-8 become U+FFFD.
pub(super) fn string(out: &mut Vec<u8>, text: &[u8]) {
    let start = out.len();
    match std::str::from_utf8(text) {
        Ok(text) => out.extend_from_slice(text.as_bytes()),
        Err(_) => out.extend_from_slice(String::from_utf8_lossy(text).as_bytes()),
    }
    out[start..].iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
    out.push(0);
}

/// Appends the text of a literal.
pub(super) fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn put_text(out: &mut Vec<u8>, event: &Event<'_>, index: usize, value: &Value<'_>) {
    let text = event.numbers(index).and_then(|numbers| event.string_of(numbers, value));
    string(out, text.unwrap_or_default().as_bytes());
}

fn describe(out: &mut String, element: &str, name: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "\t\t{element} {name};");
}

/// Describes one value, and returns its number of bytes.
fn element(registry: &Registry, sort: Sort) -> (String, usize) {
    let whole = |bytes, is_signed, base| (integer(bytes, is_signed, base), bytes);
    match sort {
        Sort::U8 => whole(1, false, 10),
        Sort::U16 => whole(2, false, 10),
        Sort::U32 => whole(4, false, 10),
        Sort::U64 | Sort::Word => whole(8, false, 10),
        Sort::I8 => whole(1, true, 10),
        Sort::I16 => whole(2, true, 10),
        Sort::I32 => whole(4, true, 10),
        Sort::I64 => whole(8, true, 10),
        Sort::Pointer | Sort::Addr => whole(8, false, 16),
        Sort::F32 => ("floating_point { exp_dig = 8; mant_dig = 24; align = 8; }".to_string(), 4),
        Sort::F64 => ("floating_point { exp_dig = 11; mant_dig = 53; align = 8; }".to_string(), 8),
        Sort::Bool => (format!("enum : {} {{ \"false\" = 0, \"true\" = 1 }}", integer(1, false, 10)), 1),
        Sort::Bytes => (integer(1, false, 16), 1),
        Sort::String | Sort::Label => (STRING.to_string(), 0),
        Sort::Named(_) => {
            let Some(ty) = registry.ty(sort) else { return whole(8, false, 10) };
            let (_, width) = element(registry, ty.repr);
            let is_signed = ty.repr.int_range().is_some_and(|range| *range.start() < 0);
            let base = if ty.form == TypeForm::Flags { 16 } else { 10 };
            if ty.values.is_empty() {
                return whole(width, is_signed, base);
            }
            let mut text = format!("enum : {} {{ ", integer(width, is_signed, base));
            for (at, value) in ty.values.iter().enumerate() {
                text.push_str(if at > 0 { ", " } else { "" });
                quoted(&mut text, &value.name);
                let _ = write!(text, " = {}", value.number);
            }
            text.push_str(" }");
            (text, width)
        }
    }
}
