//! Writes values. This is the one description of how a value becomes bytes.
//!
//! Everything is generic over [`Put`], so that the runtime's hot path (raw stores into a block) and
//! the safe writers (a `&mut Vec<u8>`) share it. The functions are small and always inlined. They
//! pass the destination on by value, so that it stays in a register even if the rare cases are out
//! of line. On the hot path the latency of the clock hides all of this.

use alloc::vec::Vec;

/// Maximum length of an unsigned or zigzag value.
pub const MAX_VARINT: usize = 9;

/// A destination of packed bytes.
///
/// The caller makes sure that there is room, so no method fails.
pub trait Put: Sized {
    /// Appends some bytes whose number is known at compile time.
    fn array<const N: usize>(self, bytes: [u8; N]) -> Self;
    /// Appends a run of bytes.
    fn run(self, bytes: &[u8]) -> Self;
    /// Appends the low `N` bytes, 1 to 4, of a little-endian word. There is room for all four.
    /// `USUAL` is the length that most numbers have here. A destination may be fastest for it.
    #[inline(always)]
    fn low<const N: usize, const USUAL: usize>(self, word: u32) -> Self {
        self.run(&word.to_le_bytes()[..N])
    }
    /// Appends a run of bytes if that needs no call to a copying routine.
    #[inline(always)]
    fn short_run(self, bytes: &[u8]) -> Option<Self> {
        Some(self.run(bytes))
    }
}

impl Put for &mut Vec<u8> {
    fn array<const N: usize>(self, bytes: [u8; N]) -> Self {
        self.extend_from_slice(&bytes);
        self
    }

    fn run(self, bytes: &[u8]) -> Self {
        self.extend_from_slice(bytes);
        self
    }
}

/// Writes an unsigned number as a prefix varint. The zeros below the lowest set bit of the first
/// byte say how many bytes follow. The bits above it and the further bytes are the number,
/// little-endian.
///
/// | bytes | first byte | number |
/// |---|---|---|
/// | 1 | `xxxxxxx1` | below 2^7 |
/// | 2 | `xxxxxx10` | below 2^14 |
/// | ... | | |
/// | 8 | `10000000` | below 2^56 |
/// | 9 | `00000000` | any |
///
/// The result is as short as that of LEB128, but is written and read with one shift each, without a
/// loop.
#[inline]
pub fn unsigned<P: Put>(out: P, value: u64) -> P {
    if value >> 56 != 0 {
        return out.array([0]).array(value.to_le_bytes());
    }
    let len = (value | 1).ilog2() / 7 + 1;
    let word = value << len | 1 << (len - 1);
    out.run(&word.to_le_bytes()[..len as usize])
}

/// Returns the number of bytes that [`unsigned`] writes.
pub const fn unsigned_len(value: u64) -> usize {
    if value >> 56 != 0 { MAX_VARINT } else { (value | 1).ilog2() as usize / 7 + 1 }
}

/// Tells the compiler that the code after the call rarely runs. Does the same as
/// `core::hint::cold_path`, which needs Rust 1.95.
#[doc(hidden)]
#[cold]
#[inline(always)]
pub const fn cold_path() {}

/// Writes an unsigned number as [`unsigned`] does, if that takes one to four bytes. Nearly every
/// value of a delta-coded event does. The code falls through if it takes `USUAL` bytes.
///
/// With debug assertions it is a function: otherwise each number of an event would enlarge the
/// frame of the emitter, and handlers of fatal signals have little stack.
#[cfg_attr(debug_assertions, inline(never))]
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn short_unsigned<const USUAL: usize, P: Put>(out: P, value: u64) -> Option<P> {
    const { assert!(1 <= USUAL && USUAL <= 4, "a word of 32 bits has the number") };
    let least = if USUAL == 1 { 0 } else { 1 << (7 * (USUAL - 1)) };
    let above = value.wrapping_sub(least);
    if above < (1 << (7 * USUAL)) - least {
        let mark = (least as u32) << USUAL | 1 << (USUAL - 1);
        return Some(out.low::<USUAL, USUAL>(((above as u32) << USUAL).wrapping_add(mark)));
    }
    cold_path();
    let v = value as u32;
    Some(if value < 1 << 7 {
        out.low::<1, USUAL>(v << 1 | 1)
    } else if value < 1 << 14 {
        out.low::<2, USUAL>(v << 2 | 1 << 1)
    } else if value < 1 << 21 {
        out.low::<3, USUAL>(v << 3 | 1 << 2)
    } else if value < 1 << 28 {
        out.low::<4, USUAL>(v << 4 | 1 << 3)
    } else {
        return None;
    })
}

/// Writes two unsigned numbers, the second in one to four bytes, or returns `None`. One store
/// suffices if the second takes one byte, and the first, usually a constant, takes one or two.
#[inline(always)]
pub fn short_pair<P: Put>(out: P, first: u16, second: u64) -> Option<P> {
    let (a, b) = (u32::from(first), second as u32);
    if second < 1 << 7 && first < 1 << 7 {
        return Some(out.low::<2, 2>((b << 1 | 1) << 8 | a << 1 | 1));
    }
    if second < 1 << 7 && first < 1 << 14 {
        return Some(out.low::<3, 3>((b << 1 | 1) << 16 | a << 2 | 1 << 1));
    }
    cold_path();
    let out = match first {
        0..0x80 => out.low::<1, 1>(a << 1 | 1),
        0x80..0x4000 => out.low::<2, 2>(a << 2 | 1 << 1),
        0x4000.. => out.low::<3, 3>(a << 3 | 1 << 2),
    };
    short_unsigned::<1, P>(out, second)
}

/// Writes a signed number: zigzag, then [`unsigned`]. So numbers near zero are short, whatever
/// their sign.
#[inline]
pub fn signed<P: Put>(out: P, value: i64) -> P {
    unsigned(out, zigzag(value))
}

/// Writes a pointer, address or word as its signed distance from `slot`. That is the last value of
/// the same parameter of the same event in this lane. The distance wraps, so every 64-bit value has
/// one.
#[inline]
pub fn delta<P: Put>(out: P, slot: u64, value: u64) -> P {
    signed(out, value.wrapping_sub(slot) as i64)
}

/// Does the same as [`short_unsigned`], for [`signed`].
#[inline(always)]
pub fn short_signed<const USUAL: usize, P: Put>(out: P, value: i64) -> Option<P> {
    short_unsigned::<USUAL, P>(out, zigzag(value))
}

/// Does the same as [`short_unsigned`], for [`delta`].
#[inline(always)]
pub fn short_delta<const USUAL: usize, P: Put>(out: P, slot: u64, value: u64) -> Option<P> {
    short_signed::<USUAL, P>(out, value.wrapping_sub(slot) as i64)
}

/// Does the same as [`short_unsigned`], for [`bytes`].
#[inline(always)]
pub fn short_bytes<P: Put>(out: P, value: &[u8]) -> Option<P> {
    short_unsigned::<1, P>(out, value.len() as u64)?.short_run(value)
}

/// Writes a byte, unchanged: `bool`, `u8`, `i8`.
#[inline(always)]
pub fn byte<P: Put>(out: P, value: u8) -> P {
    out.array([value])
}

/// Writes the bits of a 32-bit float, little-endian.
#[inline(always)]
pub fn f32<P: Put>(out: P, value: f32) -> P {
    out.array(value.to_le_bytes())
}

/// Writes the bits of a 64-bit float, little-endian.
#[inline(always)]
pub fn f64<P: Put>(out: P, value: f64) -> P {
    out.array(value.to_le_bytes())
}

/// Writes a string or byte string: its length as an unsigned number, then the bytes.
#[inline]
pub fn bytes<P: Put>(out: P, value: &[u8]) -> P {
    unsigned(out, value.len() as u64).run(value)
}

/// Folds the sign into the lowest bit: 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline(always)]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Returns the inverse of [`zigzag`].
#[inline(always)]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Truncates a string at the last character boundary at or below `max` bytes.
///
/// Returns a string that fits after one comparison.
#[inline(always)]
pub fn truncate(value: &str, max: usize) -> &str {
    if value.len() <= max { value } else { cut_at_border(value, max) }
}

#[cold]
fn cut_at_border(value: &str, max: usize) -> &str {
    &value[..value.floor_char_boundary(max)]
}
