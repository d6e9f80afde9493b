//! Values of enums and flags.

use telemetry_schema::{Type, TypeForm};

use super::number::{hex_lower, signed_decimal};

/// Appends the name of an enum's value, or the names of flags joined by `|`. A value without a name
/// is a number.
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
    let start = out.len();
    each_flag(bits, ty, |flag| {
        if out.len() > start {
            out.push(b'|');
        }
        match flag {
            Flag::Named(name) => out.extend_from_slice(name.as_bytes()),
            Flag::Bits(bits) => {
                out.extend_from_slice(b"0x");
                hex_lower(out, bits);
            }
        }
    });
}

/// Formats a value's bits like [`named`].
pub(crate) fn named_text(bits: u64, ty: Option<&Type>) -> String {
    let is_signed = ty.is_some_and(|ty| ty.repr.int_range().is_some_and(|range| *range.start() < 0));
    let mut out = Vec::new();
    named(&mut out, if is_signed { (bits as i64).into() } else { bits.into() }, ty);
    String::from_utf8_lossy(&out).into_owned()
}

/// One flag of a value, or its remaining bits.
pub(crate) enum Flag<'a> {
    Named(&'a str),
    /// Bits without a name.
    Bits(u64),
}

/// Visits the flags that are set, in the registry's order, then the bits without a name.
pub(crate) fn each_flag<'a>(bits: u64, ty: &'a Type, mut visit: impl FnMut(Flag<'a>)) {
    let mut rest = bits;
    for value in &ty.values {
        let mask = value.number as u64;
        if mask != 0 && bits & mask == mask {
            visit(Flag::Named(&value.name));
            rest &= !mask;
        }
    }
    if rest != 0 {
        visit(Flag::Bits(rest));
    }
}
