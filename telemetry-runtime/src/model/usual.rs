//! Parameters whose usual length the registry says.
//!
//! The emitter falls through where a parameter has its usual length. Others take a detour.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::convert::identity;

use telemetry_format::put;

use crate::model::fields::{Delta, Fields, Signed16, Signed32, Signed64, Unsigned16, Unsigned32, Unsigned64};
use crate::model::raw::{Ahead, Raw};

/// A field that is one varint.
pub trait Varint<const SLOTS: usize>: Fields<SLOTS> {
    /// Returns the number of the varint.
    fn number(&self, slots: &[Cell<u64>; SLOTS]) -> u64;
}

macro_rules! varint {
    ($($name:ident $number:expr),*) => {
        $(impl<const SLOTS: usize> Varint<SLOTS> for $name {
            #[inline(always)]
            fn number(&self, _: &[Cell<u64>; SLOTS]) -> u64 {
                $number(self.0.into())
            }
        })*
    };
}

varint!(
    Unsigned16 identity::<u64>, Unsigned32 identity::<u64>, Unsigned64 identity::<u64>,
    Signed16 put::zigzag, Signed32 put::zigzag, Signed64 put::zigzag
);

/// A varint that usually takes `BYTES` bytes, as the registry says.
#[derive(Clone, Copy)]
pub struct Usual<const BYTES: usize, F>(pub F);

// SAFETY: writes what the field writes.
unsafe impl<const BYTES: usize, const SLOTS: usize, F: Varint<SLOTS>> Fields<SLOTS> for Usual<BYTES, F> {
    const IS_FIXED: bool = F::IS_FIXED;
    #[inline(always)]
    fn bound(&self) -> usize {
        self.0.bound()
    }
    #[inline(always)]
    fn put(&self, out: Raw, slots: &[Cell<u64>; SLOTS]) -> Raw {
        self.0.put(out, slots)
    }
    #[inline(always)]
    fn put_short(&self, out: Ahead, slots: &[Cell<u64>; SLOTS]) -> Option<Ahead> {
        put::short_unsigned::<BYTES, _>(out, self.0.number(slots))
    }
    #[inline(always)]
    fn keep(&self, slots: &[Cell<u64>; SLOTS]) {
        self.0.keep(slots);
    }
}

impl<const SLOT: usize, const SLOTS: usize> Varint<SLOTS> for Delta<SLOT> {
    #[inline(always)]
    fn number(&self, slots: &[Cell<u64>; SLOTS]) -> u64 {
        put::zigzag(self.0.wrapping_sub(slots[SLOT].get()) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fields::{Byte, Double, Text};

    /// Writes fields both ways. The short way writes the same bytes, if all numbers are short.
    fn check<F: Fields<2>>(fields: F, is_short: bool) {
        let write = |put: &dyn Fn(*mut u8) -> Option<*mut u8>| {
            let mut block = [0x5a_u8; 128];
            let at = block.as_mut_ptr();
            put(at).map(|end| block[..end.addr() - at.addr()].to_vec())
        };
        let slots = [Cell::new(1000), Cell::new(u64::MAX)];
        let short = write(&|at| fields.put_short(Ahead::new(at), &slots).map(Ahead::end));
        let long = write(&|at| Some(fields.put(Raw::new(at), &slots).end()));
        assert_eq!(short, long.filter(|_| is_short));
    }

    fn is_short(value: u64) -> bool {
        put::unsigned_len(value) <= 4
    }

    #[test]
    fn numbers_have_the_same_bytes_whatever_is_usual() {
        for shift in 0..64 {
            for by in [-1, 0, 1] {
                let value = (1_u64 << shift).wrapping_add_signed(by);
                let signed = value as i64;
                let fits = is_short(value);
                check((Usual::<1, _>(Unsigned64(value)), (Byte(7), ())), fits);
                check((Usual::<2, _>(Unsigned64(value)), (Byte(7), ())), fits);
                check((Usual::<3, _>(Unsigned64(value)), (Usual::<1, _>(Unsigned16(900)), ())), fits);
                check((Usual::<4, _>(Unsigned64(value)), (Double(0.5), ())), fits);
                check((Unsigned64(value), (Usual::<2, _>(Unsigned16(3)), (Text::<8>("text"), ()))), fits);
                check((Usual::<2, _>(Signed64(signed)), (Byte(7), ())), is_short(put::zigzag(signed)));
                let narrow = signed as i32;
                check((Usual::<2, _>(Signed32(narrow)), (Byte(7), ())), is_short(put::zigzag(narrow.into())));
                let delta = Delta::<0>(1000_u64.wrapping_add(value));
                check((Usual::<3, _>(delta), (Byte(7), ())), is_short(put::zigzag(signed)));
                let two = (Usual::<2, _>(Delta::<1>(value)), (Delta::<0>(1001), (Text::<8>("text"), ())));
                check(two, is_short(put::zigzag(signed.wrapping_add(1))));
            }
        }
        check((Usual::<1, _>(Unsigned32(1)), (Text::<2>("long"), ())), false);
    }

    #[test]
    fn codes_and_times_have_the_same_bytes() {
        for code in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u16::MAX] {
            for shift in 0..32 {
                let time = (1_u64 << shift) - 1;
                let mut block = [0x5a_u8; 32];
                let at = block.as_mut_ptr();
                let end = put::short_pair(Ahead::new(at), code, time).map(|out| put::byte(out, 7).end());
                let mut expected = Vec::new();
                put::byte(put::unsigned(put::unsigned(&mut expected, code.into()), time), 7);
                let found = end.map(|end| &block[..end.addr() - at.addr()]);
                assert_eq!(found, is_short(time).then_some(&expected[..]), "{code} {time}");
            }
        }
    }
}
