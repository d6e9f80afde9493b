//! How each sort stands in a block: the reading side of the packing that docs/format.md draws.

use telemetry_format::{Cursor, Malformed};
use telemetry_schema::Sort;

/// The form of one value in the stream. Several sorts share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// Signed distance from a slot.
    Delta,
    Unsigned16,
    Unsigned32,
    Unsigned64,
    Signed16,
    Signed32,
    Signed64,
    Byte,
    SignedByte,
    Bool,
    F32,
    F64,
    /// Length and bytes.
    Run,
}

impl Packing {
    /// The packing of a sort that is not [`Sort::Named`]; a named one is packed as its repr.
    pub(crate) fn of(repr: Sort) -> Packing {
        match repr {
            Sort::Pointer | Sort::Addr | Sort::Word => Packing::Delta,
            Sort::U8 => Packing::Byte,
            Sort::U16 => Packing::Unsigned16,
            Sort::U32 => Packing::Unsigned32,
            Sort::U64 | Sort::Label | Sort::Named(_) => Packing::Unsigned64,
            Sort::I8 => Packing::SignedByte,
            Sort::I16 => Packing::Signed16,
            Sort::I32 => Packing::Signed32,
            Sort::I64 => Packing::Signed64,
            Sort::F32 => Packing::F32,
            Sort::F64 => Packing::F64,
            Sort::Bool => Packing::Bool,
            Sort::String | Sort::Bytes => Packing::Run,
        }
    }

    /// Fewest bytes that a value takes.
    pub(crate) fn min_len(self) -> usize {
        match self {
            Packing::F32 => 4,
            Packing::F64 => 8,
            _ => 1,
        }
    }

    /// Reads a value that is a number, as its bits; sign-extended where it has a sign. `base` is what
    /// a delta counts from, and then the value. A run is skipped and gives its length.
    #[inline(always)]
    pub(crate) fn bits(self, cursor: &mut Cursor<'_>, base: &mut u64) -> Result<u64, Malformed> {
        Ok(match self {
            Packing::Delta => cursor.delta(base)?,
            Packing::Unsigned16 => cursor.unsigned_as::<u16>()?.into(),
            Packing::Unsigned32 => cursor.unsigned_as::<u32>()?.into(),
            Packing::Unsigned64 => cursor.unsigned()?,
            Packing::Signed16 => i64::from(cursor.signed_as::<i16>()?) as u64,
            Packing::Signed32 => i64::from(cursor.signed_as::<i32>()?) as u64,
            Packing::Signed64 => cursor.signed()? as u64,
            Packing::Byte => cursor.byte()?.into(),
            Packing::SignedByte => i64::from(cursor.byte()? as i8) as u64,
            Packing::Bool => cursor.bool()?.into(),
            Packing::F32 => cursor.f32()?.to_bits().into(),
            Packing::F64 => cursor.f64()?.to_bits(),
            Packing::Run => cursor.bytes()?.len() as u64,
        })
    }
}
