//! Values of enums and flags.

use telemetry_schema::{Type, TypeForm};

use super::number::{hex_lower, signed_decimal};

/// An enum's name, the names of flags joined by `|`, and as a number what has no name.
pub(crate) fn named(out: &mut Vec<u8>, number: i128, ty: Option<&Type>) {
    if let Some(value) = ty.and_then(|ty| ty.value(number)) {
        out.extend_from_slice(value.name.as_bytes());
        return;
    }
    let bits = number as u64;
    let Some(ty) = ty.filter(|ty| ty.form == TypeForm::Flags && bits != 0) else {
        return match u64::try_from(number) {
            Ok(number) => super::decimal(out, number),
            Err(_) => signed_decimal(out, number as i64),
        };
    };
    let (start, mut rest) = (out.len(), bits);
    let bar = |out: &mut Vec<u8>| {
        if out.len() > start {
            out.push(b'|');
        }
    };
    for value in &ty.values {
        let mask = value.number as u64;
        if mask != 0 && bits & mask == mask {
            bar(out);
            out.extend_from_slice(value.name.as_bytes());
            rest &= !mask;
        }
    }
    if rest != 0 {
        bar(out);
        out.extend_from_slice(b"0x");
        hex_lower(out, rest);
    }
}
