//! The parameters of an event on their way into a block.
//!
//! The macro describes an event's parameters by these types, nested as pairs: `(Delta::<0>(p),
//! (Unsigned32(n), ()))`. Each type knows the maximum length of its encoding. So generated code
//! cannot write beyond the room that it has asked for.
#![allow(unsafe_code)]

use core::cell::Cell;

use telemetry_format::put::{self, MAX_VARINT};

use crate::model::raw::{Ahead, Raw};

/// Parameters that can be written.
///
/// # Safety
/// `put` and `put_short` must write at most `bound` bytes.
pub unsafe trait Fields<const SLOTS: usize> {
    /// True if `bound` is the same for all values.
    const IS_FIXED: bool;
    /// Returns the maximum number of bytes that `put` writes.
    fn bound(&self) -> usize;
    /// Writes the parameters.
    fn put(&self, out: Raw, slots: &[Cell<u64>; SLOTS]) -> Raw;
    /// Writes the parameters if all are short, without calls and without changes to the slots. By
    /// default returns `None`, for the long way.
    #[inline(always)]
    fn put_short(&self, _out: Ahead, _slots: &[Cell<u64>; SLOTS]) -> Option<Ahead> {
        None
    }
    /// Stores the parameters in the slots, after `put_short`.
    #[inline(always)]
    fn keep(&self, _slots: &[Cell<u64>; SLOTS]) {}
    /// Returns the number of parameters that are truncated to their limit.
    #[inline(always)]
    fn truncated(&self) -> u64 {
        0
    }
}

// SAFETY: writes nothing.
unsafe impl<const SLOTS: usize> Fields<SLOTS> for () {
    const IS_FIXED: bool = true;
    #[inline(always)]
    fn bound(&self) -> usize {
        0
    }
    #[inline(always)]
    fn put(&self, out: Raw, _: &[Cell<u64>; SLOTS]) -> Raw {
        out
    }
    #[inline(always)]
    fn put_short(&self, out: Ahead, _: &[Cell<u64>; SLOTS]) -> Option<Ahead> {
        Some(out)
    }
}

// SAFETY: the bound is the sum of the bounds of both parts.
unsafe impl<const SLOTS: usize, A: Fields<SLOTS>, B: Fields<SLOTS>> Fields<SLOTS> for (A, B) {
    const IS_FIXED: bool = A::IS_FIXED && B::IS_FIXED;
    #[inline(always)]
    fn bound(&self) -> usize {
        self.0.bound() + self.1.bound()
    }
    #[inline(always)]
    fn put(&self, out: Raw, slots: &[Cell<u64>; SLOTS]) -> Raw {
        self.1.put(self.0.put(out, slots), slots)
    }
    #[inline(always)]
    fn put_short(&self, out: Ahead, slots: &[Cell<u64>; SLOTS]) -> Option<Ahead> {
        self.1.put_short(self.0.put_short(out, slots)?, slots)
    }
    #[inline(always)]
    fn keep(&self, slots: &[Cell<u64>; SLOTS]) {
        self.0.keep(slots);
        self.1.keep(slots);
    }
    #[inline(always)]
    fn truncated(&self) -> u64 {
        self.0.truncated() + self.1.truncated()
    }
}

/// A field that can be an element of an array: its encoding depends only on its value.
///
/// # Safety
/// `put` and `put_short` must write at most `SIZE` bytes.
pub unsafe trait Element<const SLOTS: usize>: Fields<SLOTS> {
    /// Maximum length of the encoding.
    const SIZE: usize;
}

macro_rules! field {
    ($(#[$doc:meta])* $name:ident($inner:ty), $size:expr, $put:expr, $put_short:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name(pub $inner);

        // SAFETY: `telemetry_format::put` documents how many bytes each of its functions writes.
        unsafe impl<const SLOTS: usize> Element<SLOTS> for $name {
            const SIZE: usize = $size;
        }

        // SAFETY: as above.
        unsafe impl<const SLOTS: usize> Fields<SLOTS> for $name {
            const IS_FIXED: bool = true;
            #[inline(always)]
            fn bound(&self) -> usize {
                $size
            }
            #[inline(always)]
            fn put(&self, out: Raw, _: &[Cell<u64>; SLOTS]) -> Raw {
                $put(out, self.0.into())
            }
            #[inline(always)]
            fn put_short(&self, out: Ahead, _: &[Cell<u64>; SLOTS]) -> Option<Ahead> {
                $put_short(out, self.0.into())
            }
        }
    };
}

/// Room for a varint of 16 bits: three bytes, written as a word of four bytes.
const VARINT_16: usize = 4;
/// Room for a varint of 32 bits.
const VARINT_32: usize = 5;

field!(
    /// `u16`, and types that are encoded as such numbers.
    Unsigned16(u16), VARINT_16, put::unsigned, put::short_unsigned::<1, _>
);
field!(
    /// `u32`, and types that are encoded as such numbers.
    Unsigned32(u32), VARINT_32, put::unsigned, put::short_unsigned::<1, _>
);
field!(
    /// `u64`, labels, and types that are encoded as such numbers.
    Unsigned64(u64), MAX_VARINT, put::unsigned, put::short_unsigned::<1, _>
);
field!(
    /// `i16`, and enums that are encoded as such numbers.
    Signed16(i16), VARINT_16, put::signed, put::short_signed::<1, _>
);
field!(
    /// `i32`, and enums that are encoded as such numbers.
    Signed32(i32), VARINT_32, put::signed, put::short_signed::<1, _>
);
field!(
    /// `i64`, and enums that are encoded as such numbers.
    Signed64(i64), MAX_VARINT, put::signed, put::short_signed::<1, _>
);
field!(
    /// `bool`, `u8`, `i8`, and types that are encoded as such numbers.
    Byte(u8), 1, put::byte, |out, value| Some(put::byte(out, value))
);
field!(
    /// `f32`.
    Float(f32), 4, put::f32, |out, value| Some(put::f32(out, value))
);
field!(
    /// `f64`.
    Double(f64), 8, put::f64, |out, value| Some(put::f64(out, value))
);

/// `pointer`, `addr` and `word`: the distance from the value in a delta slot.
#[derive(Clone, Copy)]
pub struct Delta<const SLOT: usize>(pub u64);

// SAFETY: one varint.
unsafe impl<const SLOT: usize, const SLOTS: usize> Fields<SLOTS> for Delta<SLOT> {
    const IS_FIXED: bool = true;
    #[inline(always)]
    fn bound(&self) -> usize {
        MAX_VARINT
    }
    #[inline(always)]
    fn put(&self, out: Raw, slots: &[Cell<u64>; SLOTS]) -> Raw {
        const { assert!(SLOT < SLOTS, "the slot is one of the registry's") };
        put::delta(out, slots[SLOT].replace(self.0), self.0)
    }
    #[inline(always)]
    fn put_short(&self, out: Ahead, slots: &[Cell<u64>; SLOTS]) -> Option<Ahead> {
        put::short_delta::<1, _>(out, slots[SLOT].get(), self.0)
    }
    #[inline(always)]
    fn keep(&self, slots: &[Cell<u64>; SLOTS]) {
        slots[SLOT].set(self.0);
    }
}

/// `string`, at most `MAX` bytes.
#[derive(Clone, Copy)]
pub struct Text<'a, const MAX: usize>(pub &'a str);

// SAFETY: `put` writes the length and the bytes of the string that `bound` measures.
unsafe impl<const MAX: usize, const SLOTS: usize> Fields<SLOTS> for Text<'_, MAX> {
    const IS_FIXED: bool = false;
    #[inline(always)]
    fn bound(&self) -> usize {
        MAX_VARINT + self.0.len().min(MAX)
    }
    #[inline(always)]
    fn put(&self, out: Raw, _: &[Cell<u64>; SLOTS]) -> Raw {
        put::bytes(out, put::truncate(self.0, MAX).as_bytes())
    }
    #[inline(always)]
    fn put_short(&self, out: Ahead, _: &[Cell<u64>; SLOTS]) -> Option<Ahead> {
        if self.0.len() > MAX { None } else { put::short_bytes(out, self.0.as_bytes()) }
    }
    #[inline(always)]
    fn truncated(&self) -> u64 {
        u64::from(self.0.len() > MAX)
    }
}

/// `bytes`, at most `MAX`.
#[derive(Clone, Copy)]
pub struct Bytes<'a, const MAX: usize>(pub &'a [u8]);

// SAFETY: as for `Text`.
unsafe impl<const MAX: usize, const SLOTS: usize> Fields<SLOTS> for Bytes<'_, MAX> {
    const IS_FIXED: bool = false;
    #[inline(always)]
    fn bound(&self) -> usize {
        MAX_VARINT + self.0.len().min(MAX)
    }
    #[inline(always)]
    fn put(&self, out: Raw, _: &[Cell<u64>; SLOTS]) -> Raw {
        put::bytes(out, &self.0[..self.0.len().min(MAX)])
    }
    #[inline(always)]
    fn put_short(&self, out: Ahead, _: &[Cell<u64>; SLOTS]) -> Option<Ahead> {
        if self.0.len() > MAX { None } else { put::short_bytes(out, self.0) }
    }
    #[inline(always)]
    fn truncated(&self) -> u64 {
        u64::from(self.0.len() > MAX)
    }
}

/// An array of at most `MAX` elements, with the count before them if `COUNTED`. The function makes
/// the field of an element.
#[derive(Clone, Copy)]
pub struct Array<'a, T, F, const MAX: usize, const COUNTED: bool>(pub &'a [T], pub F);

// SAFETY: writes a count and the number of fields that `bound` counts, each of at most `SIZE`
// bytes.
unsafe impl<
    const SLOTS: usize,
    T: Copy,
    E: Element<SLOTS>,
    F: Fn(T) -> E,
    const MAX: usize,
    const COUNTED: bool,
> Fields<SLOTS> for Array<'_, T, F, MAX, COUNTED>
{
    const IS_FIXED: bool = false;
    #[inline(always)]
    fn bound(&self) -> usize {
        MAX_VARINT + self.0.len().min(MAX) * E::SIZE
    }
    #[inline(always)]
    fn put(&self, out: Raw, slots: &[Cell<u64>; SLOTS]) -> Raw {
        let kept = &self.0[..self.0.len().min(MAX)];
        let out = if COUNTED { put::unsigned(out, kept.len() as u64) } else { out };
        kept.iter().fold(out, |out, &value| (self.1)(value).put(out, slots))
    }
    #[inline(always)]
    fn truncated(&self) -> u64 {
        u64::from(self.0.len() > MAX)
    }
}

/// An array of `pointer`, `addr` or `word`. Each element is written as the distance from the
/// previous one. The distance of the first is from the slot, which then holds the first.
#[derive(Clone, Copy)]
pub struct Deltas<'a, T, F, const SLOT: usize, const MAX: usize, const COUNTED: bool>(pub &'a [T], pub F);

// SAFETY: writes a count and the number of varints that `bound` counts.
unsafe impl<
    const SLOTS: usize,
    T: Copy,
    F: Fn(T) -> u64,
    const SLOT: usize,
    const MAX: usize,
    const COUNTED: bool,
> Fields<SLOTS> for Deltas<'_, T, F, SLOT, MAX, COUNTED>
{
    const IS_FIXED: bool = false;
    #[inline(always)]
    fn bound(&self) -> usize {
        (1 + self.0.len().min(MAX)) * MAX_VARINT
    }
    #[inline(always)]
    fn put(&self, out: Raw, slots: &[Cell<u64>; SLOTS]) -> Raw {
        const { assert!(SLOT < SLOTS, "the slot is one of the registry's") };
        let kept = &self.0[..self.0.len().min(MAX)];
        let mut out = if COUNTED { put::unsigned(out, kept.len() as u64) } else { out };
        let mut last = slots[SLOT].get();
        for (index, &value) in kept.iter().enumerate() {
            let value = (self.1)(value);
            out = put::delta(out, last, value);
            last = value;
            if index == 0 {
                slots[SLOT].set(value);
            }
        }
        out
    }
    #[inline(always)]
    fn truncated(&self) -> u64 {
        u64::from(self.0.len() > MAX)
    }
}

#[cfg(test)]
mod tests {
    use core::convert::identity;

    use super::*;

    /// Checks the most bytes that fields take, how many are truncated, and how many bytes they take
    /// here.
    #[track_caller]
    fn check<F: Fields<1>>(fields: F, bound: usize, truncated: u64, written: usize) {
        let (mut room, slots) = ([0_u8; 256], [Cell::new(0)]);
        let at = room.as_mut_ptr();
        let end = fields.put(Raw::new(at), &slots).end();
        assert_eq!((fields.bound(), fields.truncated()), (bound, truncated));
        assert_eq!(end.addr() - at.addr(), written);
        assert!(written <= bound);
    }

    #[test]
    fn fields_know_their_longest_form() {
        check((), 0, 0, 0);
        check(Unsigned16(u16::MAX), 4, 0, 3);
        check(Signed32(i32::MIN), 5, 0, 5);
        check(Unsigned64(u64::MAX), MAX_VARINT, 0, MAX_VARINT);
        check(Delta::<0>(5), MAX_VARINT, 0, 1);
        check((Byte(1), (Float(0.5), (Double(0.5), ()))), 13, 0, 13);
        check(Text::<4>("abcd"), MAX_VARINT + 4, 0, 5);
        check(Text::<4>("abcde"), MAX_VARINT + 4, 1, 5);
        check(Bytes::<4>(b"abc"), MAX_VARINT + 3, 0, 4);
        check(Bytes::<4>(b"abcd"), MAX_VARINT + 4, 0, 5);
        check(Bytes::<4>(b"abcde"), MAX_VARINT + 4, 1, 5);
        check((Text::<1>("ab"), (Bytes::<1>(b"ab"), (Text::<1>(""), ()))), 3 * MAX_VARINT + 2, 2, 5);
    }

    #[test]
    fn arrays_have_their_elements_and_a_count() {
        check(Array::<u32, _, 3, true>(&[1, 2], Unsigned32), MAX_VARINT + 2 * 5, 0, 3);
        check(Array::<u32, _, 3, true>(&[1, 2, 3], Unsigned32), MAX_VARINT + 3 * 5, 0, 4);
        check(Array::<u32, _, 3, true>(&[1, 2, 3, 4], Unsigned32), MAX_VARINT + 3 * 5, 1, 4);
        check(Array::<u8, _, 3, false>(&[1, 2, 3], Byte), MAX_VARINT + 3, 0, 3);
        // The first distance is from the slot, and each other one from the element before.
        check(
            Deltas::<u64, _, 0, 3, true>(&[1 << 60, 1 << 60], identity::<u64>),
            3 * MAX_VARINT,
            0,
            2 + MAX_VARINT,
        );
        check(Deltas::<u64, _, 0, 3, false>(&[1, 2, 3], identity::<u64>), 4 * MAX_VARINT, 0, 3);
        check(Deltas::<u64, _, 0, 3, true>(&[1, 2, 3, 4], identity::<u64>), 4 * MAX_VARINT, 1, 4);
    }
}
