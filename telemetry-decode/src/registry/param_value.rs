//! The value of a parameter, from the record of its bits and bytes.

use telemetry_format::Cursor;
use telemetry_schema::{Count, Param, Registry};

use crate::values::raw::Raw;
use crate::values::value::{Array, Packed, Value};

/// Makes the value of a parameter.
#[inline(always)]
pub(crate) fn value<'a>(registry: &'a Registry, payload: &'a [u8], param: &Param, raw: &Raw) -> Value<'a> {
    let fixed = match param.count {
        Count::One => {
            return Value::new(param.sort, raw.bits, || raw.run(payload), || registry.ty(param.sort));
        }
        Count::Fixed(count) => Some(count),
        Count::UpTo(_) => None,
    };
    array(registry, payload, param, raw, fixed)
}

#[inline(never)]
fn array<'a>(
    registry: &'a Registry,
    payload: &'a [u8],
    param: &Param,
    raw: &Raw,
    fixed: Option<u32>,
) -> Value<'a> {
    let mut cursor = Cursor::new(raw.run(payload));
    // The decoder has checked the count.
    let len = fixed.map_or_else(|| cursor.unsigned().unwrap_or_default(), u64::from) as usize;
    Value::Array(Array::packed(Packed {
        bytes: cursor.rest(),
        len,
        base: raw.bits,
        sort: param.sort,
        encoding: registry.encoding(param.sort),
        ty: registry.ty(param.sort),
    }))
}
