//! Encodes values, after checking them against the registry.

use telemetry_format::put;
use telemetry_schema::{Count, Event as Schema, Param, Registry, Sort};

use super::error::{WriteError, refused};
use crate::values::value::Value;

/// An event whose values are checked.
pub(crate) struct Event<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) event: &'a Schema,
    pub(crate) code: u16,
    pub(crate) values: &'a [Value<'a>],
    /// Returns the slot of a parameter.
    pub(crate) slots: &'a dyn Fn(usize) -> Option<usize>,
}

/// The limit for strings and byte strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// The limit in the registry.
    Limited,
    /// The limit of a block.
    Long,
}

/// Checks that the values match the event's parameters.
pub(super) fn check(
    registry: &Registry,
    event: &Schema,
    values: &[Value],
    runs: Runs,
) -> Result<(), WriteError> {
    let (found, expected) = (values.len(), event.params.len());
    if found != expected {
        let name = &event.name;
        return refused(format!("event `{name}`: {found} values, expected {expected}"));
    }
    for (param, value) in event.params.iter().zip(values) {
        if let Err(wrong) = check_param(registry, param, value, runs) {
            return refused(format!("event `{}`, parameter `{}`: {wrong}", event.name, param.name));
        }
    }
    Ok(())
}

fn check_param(registry: &Registry, param: &Param, value: &Value, runs: Runs) -> Result<(), String> {
    let expected = || registry.sort_text(param);
    let (least, most) = match param.count {
        Count::One => return check_value(registry, param, value, runs),
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
        check_value(registry, param, &element, runs).map_err(|wrong| format!("element {index}: {wrong}"))?;
    }
    Ok(())
}

fn check_value(registry: &Registry, param: &Param, value: &Value, runs: Runs) -> Result<(), String> {
    let fits = match (param.sort, value) {
        (Sort::Pointer, Value::Pointer(_)) | (Sort::Addr, Value::Addr(_)) | (Sort::Word, Value::Word(_)) => {
            true
        }
        (Sort::F32, Value::F32(_)) | (Sort::F64, Value::F64(_)) => true,
        (Sort::Bool, Value::Bool(_)) | (Sort::Label, Value::Label(_)) => true,
        (Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64, Value::Unsigned(n)) => {
            return check_range(registry, param, (*n).into());
        }
        (Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64, Value::Signed(n)) => {
            return check_range(registry, param, (*n).into());
        }
        (Sort::Named(_), Value::Named(named)) => return check_range(registry, param, named.number()),
        // Any bytes are valid, because strings of other systems are not changed.
        (Sort::String, Value::String(_)) | (Sort::Bytes, Value::Bytes(_)) if runs == Runs::Long => true,
        (Sort::String, Value::String(text)) => return check_len(text.0, param.max_len),
        (Sort::Bytes, Value::Bytes(bytes)) => return check_len(bytes, param.max_len),
        (Sort::Pointer | Sort::Addr | Sort::Word | Sort::F32 | Sort::F64 | Sort::Bool | Sort::Label, _)
        | (Sort::U8 | Sort::U16 | Sort::U32 | Sort::U64, _)
        | (Sort::I8 | Sort::I16 | Sort::I32 | Sort::I64, _)
        | (Sort::String | Sort::Bytes | Sort::Named(_), _) => false,
    };
    if fits {
        return Ok(());
    }
    Err(format!("{}, expected {}", describe(value), registry.sort_name(param.sort)))
}

fn check_range(registry: &Registry, param: &Param, number: i128) -> Result<(), String> {
    let repr = registry.repr(param.sort);
    if repr.int_range().is_some_and(|range| range.contains(&number)) {
        return Ok(());
    }
    Err(format!("{number}, expected what fits {}", registry.sort_name(repr)))
}

fn check_len(bytes: &[u8], max: u32) -> Result<(), String> {
    match bytes.len() <= max as usize {
        true => Ok(()),
        false => Err(format!("{} bytes, expected at most {max}", bytes.len())),
    }
}

/// Describes a value for a message.
fn describe(value: &Value) -> &'static str {
    match value {
        Value::Pointer(_) => "a pointer",
        Value::Addr(_) => "an addr",
        Value::Word(_) => "a word",
        Value::Unsigned(_) => "an unsigned number",
        Value::Signed(_) => "a signed number",
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
    /// Appends the event: code, ticks since the lane's last event, parameters.
    pub(crate) fn pack(&self, since: u64, out: &mut Vec<u8>, slots: &mut [u64]) {
        put::unsigned(&mut *out, self.code.into());
        put::unsigned(&mut *out, since);
        let mut unused = 0;
        for (index, (param, value)) in self.event.params.iter().zip(self.values).enumerate() {
            let repr = self.registry.repr(param.sort);
            let slot = (self.slots)(index).and_then(|slot| slots.get_mut(slot)).unwrap_or(&mut unused);
            let Value::Array(array) = value else {
                pack_value(value, repr, param.rotation(), slot, out);
                continue;
            };
            if let Count::UpTo(_) = param.count {
                put::unsigned(&mut *out, array.len() as u64);
            }
            let mut last = *slot;
            for (index, element) in array.iter().enumerate() {
                pack_value(&element, repr, 0, &mut last, out);
                if index == 0 {
                    *slot = last;
                }
            }
        }
    }
}

/// Appends a checked value in the encoding of its type. A delta is rotated by this number of bits.
/// It counts from `last`, which is then set to the rotated value.
fn pack_value(value: &Value, repr: Sort, rotation: u32, last: &mut u64, out: &mut Vec<u8>) {
    match (*value, repr) {
        (Value::Pointer(n) | Value::Addr(n) | Value::Word(n), _) => {
            let n = n.rotate_right(rotation);
            put::delta(out, *last, n);
            *last = n;
        }
        (Value::Unsigned(n), Sort::U8) => _ = put::byte(out, n as u8),
        (Value::Unsigned(n) | Value::Label(n), _) => _ = put::unsigned(out, n),
        (Value::Signed(n), Sort::I8) => _ = put::byte(out, n as u8),
        (Value::Signed(n), _) => _ = put::signed(out, n),
        (Value::F32(x), _) => _ = put::f32(out, x),
        (Value::F64(x), _) => _ = put::f64(out, x),
        (Value::Bool(b), _) => _ = put::byte(out, b.into()),
        (Value::String(text), _) => _ = put::bytes(out, text.0),
        (Value::Bytes(bytes), _) => _ = put::bytes(out, bytes),
        (Value::Named(named), _) => {
            let number = named.number();
            let plain = match repr.int_range().is_some_and(|range| *range.start() < 0) {
                true => Value::Signed(number as i64),
                false => Value::Unsigned(number as u64),
            };
            pack_value(&plain, repr, rotation, last, out);
        }
        (Value::Array(_), _) => {}
    }
}
