//! Values for `serde`, in the form of `telemetry print --json`: see `docs/json.md`.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};
use telemetry_schema::TypeForm;

use crate::values::value::{Array, EnumValue, RawStr, Value};

/// Serializes addresses as `"0x7f00"`, enums by name, flags as a list of names, and bytes in
/// hexadecimal. Floats that are not finite are text. A label is its number, because only the event
/// has its text.
impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Pointer(n) | Value::Addr(n) => Hex(*n).serialize(to),
            Value::Word(n) | Value::Unsigned(n) | Value::Label(n) => to.serialize_u64(*n),
            Value::Signed(n) => to.serialize_i64(*n),
            Value::F32(x) => float(to, (*x).into(), |to| to.serialize_f32(*x)),
            Value::F64(x) => float(to, *x, |to| to.serialize_f64(*x)),
            Value::Bool(b) => to.serialize_bool(*b),
            Value::String(text) => text.serialize(to),
            Value::Bytes(bytes) => HexBytes(bytes).serialize(to),
            Value::Named(named) => named.serialize(to),
            Value::Array(array) => array.serialize(to),
        }
    }
}

/// Serializes text, or an object with bytes that are not UTF-8: `{"hex":"ff00"}`.
impl Serialize for RawStr<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(text) => to.serialize_str(text),
            Err(_) => {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry("hex", &HexBytes(self.0))?;
                map.end()
            }
        }
    }
}

impl Serialize for EnumValue<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.ty() {
            Some(ty) if ty.form == TypeForm::Flags => {
                let named = ty.values.iter().map(|value| (&*value.name, value.number as u64));
                flags(to, self.number() as u64, named)
            }
            _ => match (self.name(), i64::try_from(self.number())) {
                (Some(name), _) => to.serialize_str(name),
                (None, Ok(number)) => to.serialize_i64(number),
                (None, Err(_)) => to.serialize_u64(self.number() as u64),
            },
        }
    }
}

impl Serialize for Array<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

/// A number in hexadecimal.
pub(crate) struct Hex(pub(crate) u64);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:#x}", self.0))
    }
}

/// Bytes in hexadecimal.
pub(crate) struct HexBytes<'a>(pub(crate) &'a [u8]);

impl fmt::Display for HexBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for HexBytes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Serializes a float with `finite`, or as text if it is not finite: JSON has no numbers for those.
pub(crate) fn float<S: Serializer>(
    to: S,
    x: f64,
    finite: impl FnOnce(S) -> Result<S::Ok, S::Error>,
) -> Result<S::Ok, S::Error> {
    if x.is_finite() {
        return finite(to);
    }
    to.serialize_str(match x {
        _ if x.is_nan() => "NaN",
        _ if x > 0.0 => "Infinity",
        _ => "-Infinity",
    })
}

/// Serializes the names of the flags that are set, and all bits without a name as one text.
pub(crate) fn flags<'n, S: Serializer>(
    to: S,
    bits: u64,
    named: impl Iterator<Item = (&'n str, u64)>,
) -> Result<S::Ok, S::Error> {
    let (mut rest, mut names) = (bits, Vec::new());
    for (name, mask) in named {
        if mask != 0 && bits & mask == mask {
            names.push(name.to_string());
            rest &= !mask;
        }
    }
    if rest != 0 {
        names.push(format!("{rest:#x}"));
    }
    to.collect_seq(names)
}
