//! Values to bytes, checked against the registry.

use telemetry_format::put;
use telemetry_schema::{Count, Event as Schema, Param, Registry, Sort};

use super::WriteError;
use crate::value::Value;

/// An event whose values were checked.
pub(super) struct Event<'a> {
    pub(super) event: &'a Schema,
    pub(super) code: u16,
    pub(super) values: &'a [Value<'a>],
    /// The slot of a parameter.
    pub(super) slots: &'a dyn Fn(usize) -> Option<usize>,
}

/// Checks that the values are what the event's parameters ask for.
pub(super) fn check(registry: &Registry, event: &Schema, values: &[Value]) -> Result<(), WriteError> {
    let (found, expected) = (values.len(), event.params.len());
    if found != expected {
        let name = &event.name;
        return super::refused(format!("event `{name}`: {found} values, expected {expected}"));
    }
    for (param, value) in event.params.iter().zip(values) {
        if let Err(wrong) = check_param(registry, param, value) {
            return super::refused(format!("event `{}`, parameter `{}`: {wrong}", event.name, param.name));
        }
    }
    Ok(())
}

fn check_param(registry: &Registry, param: &Param, value: &Value) -> Result<(), String> {
    let expected = || registry.sort_text(param);
    let (least, most) = match param.count {
        Count::One => return check_value(registry, param, value),
        Count::Fixed(count) => (count, count),
        Count::UpTo(count) => (0, count),
    };
    let Value::Array(array) = value else {
        return Err(format!("{}, expected {}", describe(value), expected()));
    };
    if array.len() < least as usize || array.len() > most as usize {
        let bound = if least == most { "" } else { "at most " };
        return Err(format!("{} elements, expected {bound}{most}", array.len()));
    }
    for (index, element) in array.iter().enumerate() {
        check_value(registry, param, &element).map_err(|wrong| format!("element {index}: {wrong}"))?;
    }
    Ok(())
}

fn check_value(registry: &Registry, param: &Param, value: &Value) -> Result<(), String> {
    let fits = match (param.sort, value) {
        (Sort::Pointer, Value::Pointer(_)) | (Sort::Addr, Value::Addr(_)) | (Sort::Word, Value::Word(_)) => {
            true
        }
        (Sort::U8, Value::U8(_)) | (Sort::U16, Value::U16(_)) | (Sort::U32, Value::U32(_)) => true,
        (Sort::U64, Value::U64(_)) | (Sort::I8, Value::I8(_)) | (Sort::I16, Value::I16(_)) => true,
        (Sort::I32, Value::I32(_)) | (Sort::I64, Value::I64(_)) | (Sort::F32, Value::F32(_)) => true,
        (Sort::F64, Value::F64(_)) | (Sort::Bool, Value::Bool(_)) | (Sort::Label, Value::Label(_)) => true,
        (Sort::String, Value::String(text)) => {
            if let Err(error) = std::str::from_utf8(text.0) {
                return Err(format!("not UTF-8 at byte {}", error.valid_up_to()));
            }
            check_len(text.0, param.max_len)?;
            true
        }
        (Sort::Bytes, Value::Bytes(bytes)) => {
            check_len(bytes, param.max_len)?;
            true
        }
        (Sort::Named(_), Value::Named(named)) => {
            let repr = registry.repr(param.sort);
            if !repr.int_range().is_some_and(|range| range.contains(&named.number())) {
                let name = registry.sort_name(repr);
                return Err(format!("{}, expected what fits its {name}", named.number()));
            }
            true
        }
        _ => false,
    };
    if fits {
        return Ok(());
    }
    Err(format!("{}, expected {}", describe(value), registry.sort_name(param.sort)))
}

fn check_len(bytes: &[u8], max: u32) -> Result<(), String> {
    match bytes.len() <= max as usize {
        true => Ok(()),
        false => Err(format!("{} bytes, expected at most {max}", bytes.len())),
    }
}

/// What a value is, for a message.
fn describe(value: &Value) -> &'static str {
    match value {
        Value::Pointer(_) => "a pointer",
        Value::Addr(_) => "an addr",
        Value::Word(_) => "a word",
        Value::U8(_) => "a u8",
        Value::U16(_) => "a u16",
        Value::U32(_) => "a u32",
        Value::U64(_) => "a u64",
        Value::I8(_) => "an i8",
        Value::I16(_) => "an i16",
        Value::I32(_) => "an i32",
        Value::I64(_) => "an i64",
        Value::F32(_) => "an f32",
        Value::F64(_) => "an f64",
        Value::Bool(_) => "a bool",
        Value::String(_) => "a string",
        Value::Bytes(_) => "bytes",
        Value::Label(_) => "a label",
        Value::Named(_) => "an enum or flags",
        Value::Array(_) => "an array",
    }
}

impl Event<'_> {
    /// Appends the event: code, ticks since the lane's last one, parameters.
    pub(super) fn pack(&self, since: u64, out: &mut Vec<u8>, slots: &mut [u64]) {
        put::unsigned(&mut *out, self.code.into());
        put::unsigned(&mut *out, since);
        let mut unused = 0;
        for (index, (param, value)) in self.event.params.iter().zip(self.values).enumerate() {
            let slot = (self.slots)(index).and_then(|slot| slots.get_mut(slot)).unwrap_or(&mut unused);
            let Value::Array(array) = value else {
                pack_value(value, slot, out);
                continue;
            };
            if let Count::UpTo(_) = param.count {
                put::unsigned(&mut *out, array.len() as u64);
            }
            let mut last = *slot;
            for (index, element) in array.iter().enumerate() {
                pack_value(&element, &mut last, out);
                if index == 0 {
                    *slot = last;
                }
            }
        }
    }
}

/// Appends a value. A delta counts from `last`, which then is the value.
fn pack_value(value: &Value, last: &mut u64, out: &mut Vec<u8>) {
    match *value {
        Value::Pointer(n) | Value::Addr(n) | Value::Word(n) => {
            put::delta(out, *last, n);
            *last = n;
        }
        Value::U8(n) => _ = put::byte(out, n),
        Value::U16(n) => _ = put::unsigned(out, n.into()),
        Value::U32(n) => _ = put::unsigned(out, n.into()),
        Value::U64(n) | Value::Label(n) => _ = put::unsigned(out, n),
        Value::I8(n) => _ = put::byte(out, n as u8),
        Value::I16(n) => _ = put::signed(out, n.into()),
        Value::I32(n) => _ = put::signed(out, n.into()),
        Value::I64(n) => _ = put::signed(out, n),
        Value::F32(x) => _ = put::f32(out, x),
        Value::F64(x) => _ = put::f64(out, x),
        Value::Bool(b) => _ = put::byte(out, b.into()),
        Value::String(text) => _ = put::bytes(out, text.0),
        Value::Bytes(bytes) => _ = put::bytes(out, bytes),
        Value::Named(_) | Value::Array(_) => {}
    }
}
