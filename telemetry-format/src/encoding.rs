//! The list of encodings. An encoding says how one value of a parameter is written in a block.

use crate::{Cursor, Malformed, put};

/// How one value of a parameter is encoded. Several parameter types share one encoding.
///
/// This is the only list of encodings. `telemetry-schema` assigns one to each parameter type, and
/// every writer and reader matches on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// The signed distance from the value in the parameter's delta slot: [`put::delta`].
    Delta,
    /// One byte: [`put::byte`].
    Byte,
    /// One byte, in two's complement: [`put::byte`].
    SignedByte,
    /// One byte, 0 or 1: [`put::byte`].
    Bool,
    /// A number below 2^16: [`put::unsigned`].
    Unsigned16,
    /// A number below 2^32: [`put::unsigned`].
    Unsigned32,
    /// Any unsigned number: [`put::unsigned`].
    Unsigned64,
    /// A number of 16 bits: [`put::signed`].
    Signed16,
    /// A number of 32 bits: [`put::signed`].
    Signed32,
    /// A number of 64 bits: [`put::signed`].
    Signed64,
    /// Four bytes: [`put::f32`].
    F32,
    /// Eight bytes: [`put::f64`].
    F64,
    /// The length and the bytes: [`put::bytes`].
    Run,
}

impl Encoding {
    /// Returns the length of the shortest value.
    pub const fn min_len(self) -> usize {
        match self {
            Encoding::F32 => 4,
            Encoding::F64 => 8,
            Encoding::Delta | Encoding::Byte | Encoding::SignedByte | Encoding::Bool => 1,
            Encoding::Unsigned16 | Encoding::Unsigned32 | Encoding::Unsigned64 => 1,
            Encoding::Signed16 | Encoding::Signed32 | Encoding::Signed64 | Encoding::Run => 1,
        }
    }

    /// Returns the length of the longest value, for a run of at most `max` bytes.
    pub const fn max_len(self, max: u32) -> usize {
        match self {
            Encoding::Byte | Encoding::SignedByte | Encoding::Bool => 1,
            Encoding::Unsigned16 | Encoding::Signed16 => put::unsigned_len(u16::MAX as u64),
            Encoding::Unsigned32 | Encoding::Signed32 => put::unsigned_len(u32::MAX as u64),
            Encoding::Unsigned64 | Encoding::Signed64 | Encoding::Delta => put::MAX_VARINT,
            Encoding::F32 => 4,
            Encoding::F64 => 8,
            Encoding::Run => put::unsigned_len(max as u64) + max as usize,
        }
    }

    /// Reads a numeric value as bits, sign-extended if it has a sign. Adds a delta to `base`, which
    /// then becomes the value. Skips a run and returns its length.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a value in this encoding.
    #[inline(always)]
    pub fn bits(self, cursor: &mut Cursor<'_>, base: &mut u64) -> Result<u64, Malformed> {
        Ok(match self {
            Encoding::Delta => cursor.delta(base)?,
            Encoding::Unsigned16 => cursor.unsigned_as::<u16>()?.into(),
            Encoding::Unsigned32 => cursor.unsigned_as::<u32>()?.into(),
            Encoding::Unsigned64 => cursor.unsigned()?,
            Encoding::Signed16 => i64::from(cursor.signed_as::<i16>()?) as u64,
            Encoding::Signed32 => i64::from(cursor.signed_as::<i32>()?) as u64,
            Encoding::Signed64 => cursor.signed()? as u64,
            Encoding::Byte => cursor.byte()?.into(),
            Encoding::SignedByte => i64::from(cursor.byte()? as i8) as u64,
            Encoding::Bool => cursor.bool()?.into(),
            Encoding::F32 => cursor.f32()?.to_bits().into(),
            Encoding::F64 => cursor.f64()?.to_bits(),
            Encoding::Run => cursor.bytes()?.len() as u64,
        })
    }
}
