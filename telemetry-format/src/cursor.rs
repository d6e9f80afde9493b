//! Reads values, as the counterpart of [`crate::put`].

use crate::grouped::Grouped;
use crate::put::unzigzag;

/// A position in packed bytes. Every read of one value either succeeds and advances, or fails and
/// leaves the position as it is.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

/// Why a value could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end inside the value.
    Truncated,
    /// A length or a count that exceeds the remaining bytes.
    Length(u64),
    /// A value that its type does not allow, such as 2 for a bool.
    Value(u64),
    /// A string that is not UTF-8.
    Utf8,
}

impl core::fmt::Display for Malformed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Malformed::Truncated => write!(f, "the bytes end inside a value"),
            Malformed::Length(n) => write!(f, "a length of {} reaches beyond the block", Grouped::from(*n)),
            // Its parameter may be sensitive.
            Malformed::Value(_) => write!(f, "a value is not one of its type"),
            Malformed::Utf8 => write!(f, "a string is not UTF-8"),
        }
    }
}

impl core::error::Error for Malformed {}

type Result<T> = core::result::Result<T, Malformed>;

impl<'a> Cursor<'a> {
    /// Creates a cursor at the first of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Cursor { rest: bytes }
    }

    /// Returns the bytes that are not read yet.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns true at the end.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads a value that [`crate::put::unsigned`] wrote.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    #[inline(always)]
    pub fn unsigned(&mut self) -> Result<u64> {
        if let Some(bytes) = self.rest.first_chunk::<8>() {
            let word = u64::from_le_bytes(*bytes);
            // The processor can predict branches on the length, but not arithmetic with it. So it
            // can read the next value before the length of this one is known.
            if word & 1 != 0 {
                self.rest = &self.rest[1..];
                return Ok(word >> 1 & 0x7f);
            } else if word & 2 != 0 {
                self.rest = &self.rest[2..];
                return Ok(word >> 2 & 0x3fff);
            } else if word & 4 != 0 {
                self.rest = &self.rest[3..];
                return Ok(word >> 3 & 0x1f_ffff);
            }
        }
        let (value, rest) = long_unsigned(self.rest)?;
        self.rest = rest;
        Ok(value)
    }

    /// Reads two values that [`crate::put::unsigned`] wrote, with one test if both have one byte.
    ///
    /// # Errors
    /// The same as for [`Cursor::unsigned`]; the first value may be read then.
    #[inline(always)]
    pub fn two_unsigned(&mut self) -> Result<(u64, u64)> {
        match self.rest {
            [first, second, rest @ ..] if first & second & 1 != 0 => {
                self.rest = rest;
                Ok((u64::from(first >> 1), u64::from(second >> 1)))
            }
            _ => Ok((self.unsigned()?, self.unsigned()?)),
        }
    }

    /// Reads a value that [`crate::put::signed`] wrote.
    ///
    /// # Errors
    /// The same as for [`Cursor::unsigned`].
    #[inline(always)]
    pub fn signed(&mut self) -> Result<i64> {
        Ok(unzigzag(self.unsigned()?))
    }

    /// Reads a value that [`crate::put::delta`] wrote, and stores it in the slot.
    ///
    /// # Errors
    /// The same as for [`Cursor::unsigned`]; the slot is then unchanged.
    #[inline(always)]
    pub fn delta(&mut self, slot: &mut u64) -> Result<u64> {
        // Most deltas have one byte.
        let delta = match self.rest.split_first() {
            Some((&byte, rest)) if byte & 1 != 0 => {
                self.rest = rest;
                Cursor::short_delta(byte)
            }
            _ => self.signed()?,
        };
        *slot = slot.wrapping_add(delta as u64);
        Ok(*slot)
    }

    /// Returns the distance that one byte encodes. Such bytes are odd.
    #[inline(always)]
    pub fn short_delta(byte: u8) -> i64 {
        SHORT_DELTAS[usize::from(byte)]
    }

    /// Reads an unsigned number into a narrower type.
    ///
    /// # Errors
    /// The same as for [`Cursor::unsigned`], and [`Malformed::Value`] if the number does not fit.
    #[inline(always)]
    pub fn unsigned_as<T: TryFrom<u64>>(&mut self) -> Result<T> {
        let mut ahead = *self;
        let value = ahead.unsigned()?;
        let narrow = T::try_from(value).map_err(|_| Malformed::Value(value))?;
        *self = ahead;
        Ok(narrow)
    }

    /// Reads a signed number into a narrower type.
    ///
    /// # Errors
    /// The same as for [`Cursor::unsigned`], and [`Malformed::Value`] with its zigzag form if the
    /// number does not fit.
    #[inline(always)]
    pub fn signed_as<T: TryFrom<i64>>(&mut self) -> Result<T> {
        let mut ahead = *self;
        let value = ahead.unsigned()?;
        let narrow = T::try_from(unzigzag(value)).map_err(|_| Malformed::Value(value))?;
        *self = ahead;
        Ok(narrow)
    }

    /// Reads the number of elements of an array whose elements take at least `size` bytes each.
    ///
    /// # Errors
    /// The same as for [`Cursor::unsigned`], and [`Malformed::Length`] for more elements than fit
    /// into the rest. So no reader allocates memory for an untrusted count.
    #[inline(always)]
    pub fn count(&mut self, size: usize) -> Result<usize> {
        let mut ahead = *self;
        let count = ahead.unsigned()?;
        let fits = usize::try_from(count)
            .ok()
            .filter(|n| n.checked_mul(size).is_some_and(|len| len <= ahead.rest.len()));
        let count = fits.ok_or(Malformed::Length(count))?;
        *self = ahead;
        Ok(count)
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    #[inline(always)]
    pub fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(byte)
    }

    /// Reads a bool: the byte 0 or 1.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], or [`Malformed::Value`] for any other byte.
    #[inline(always)]
    pub fn bool(&mut self) -> Result<bool> {
        let mut ahead = *self;
        let value = match ahead.byte()? {
            0 => false,
            1 => true,
            other => return Err(Malformed::Value(u64::from(other))),
        };
        *self = ahead;
        Ok(value)
    }

    /// Reads a value that [`crate::put::f32`] wrote.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    #[inline(always)]
    pub fn f32(&mut self) -> Result<f32> {
        Ok(f32::from_le_bytes(self.array()?))
    }

    /// Reads a value that [`crate::put::f64`] wrote.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    #[inline(always)]
    pub fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// Reads `N` bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(*bytes)
    }

    /// Reads a value that [`crate::put::bytes`] wrote, and borrows it.
    ///
    /// # Errors
    /// The same as for [`Cursor::unsigned`], and [`Malformed::Length`] for a length beyond the end.
    #[inline(always)]
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let mut ahead = *self;
        let len = ahead.unsigned()?;
        let bytes = usize::try_from(len)
            .ok()
            .and_then(|len| ahead.rest.split_at_checked(len))
            .ok_or(Malformed::Length(len))?;
        self.rest = bytes.1;
        Ok(bytes.0)
    }

    /// Reads a string, and borrows it.
    ///
    /// # Errors
    /// The same as for [`Cursor::bytes`], and [`Malformed::Utf8`].
    #[inline(always)]
    pub fn str(&mut self) -> Result<&'a str> {
        let mut ahead = *self;
        let text = core::str::from_utf8(ahead.bytes()?).map_err(|_| Malformed::Utf8)?;
        *self = ahead;
        Ok(text)
    }
}

/// The signed numbers that take one byte, by that byte.
static SHORT_DELTAS: [i64; 256] = {
    let mut deltas = [0; 256];
    let mut byte = 0;
    while byte < deltas.len() {
        deltas[byte] = unzigzag(byte as u64 >> 1);
        byte += 1;
    }
    deltas
};

/// Reads a value of at least four bytes, or one near the end. Takes and returns the position by
/// value, so that a [`Cursor`] can stay in registers.
#[inline(never)]
fn long_unsigned(rest: &[u8]) -> Result<(u64, &[u8])> {
    let first = *rest.first().ok_or(Malformed::Truncated)?;
    let len = first.trailing_zeros() as usize + 1;
    if len > 8 {
        // Nine bytes: the last eight are the number.
        let (bytes, rest) = rest[1..].split_first_chunk().ok_or(Malformed::Truncated)?;
        return Ok((u64::from_le_bytes(*bytes), rest));
    }
    let (bytes, rest) = rest.split_at_checked(len).ok_or(Malformed::Truncated)?;
    let word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    Ok((word >> len, rest))
}
