//! Parameters whose usual length the registry says.
//!
//! If each parameter of an event has its usual length, the emitter knows at which offset each one
//! goes: it advances the address once, and not by each parameter.
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
    const HAS_USUAL: bool = true;
    #[inline(always)]
    fn bound(&self) -> usize {
        self.0.bound()
    }
    #[inline(always)]
    fn put(&self, out: Raw, slots: &[Cell<u64>; SLOTS]) -> Raw {
        self.0.put(out, slots)
    }
    #[inline(always)]
    fn put_short(&self, out: Raw, slots: &[Cell<u64>; SLOTS]) -> Option<Raw> {
        self.0.put_short(out, slots)
    }
    #[inline(always)]
    fn put_usual(&self, out: Ahead, slots: &[Cell<u64>; SLOTS]) -> Option<Ahead> {
        put::exact_unsigned::<BYTES, _>(out, self.0.number(slots))
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

    /// Writes fields both ways: the usual way writes the same bytes, if all lengths are usual.
    fn check<F: Fields<2>>(fields: F, is_usual: bool) {
        let write = |put: &dyn Fn(*mut u8) -> Option<Raw>| {
            let mut block = [0x5a_u8; 128];
            let at = block.as_mut_ptr();
            put(at).map(|out| block[..out.end().addr() - at.addr()].to_vec())
        };
        let slots = [Cell::new(1000), Cell::new(u64::MAX)];
        let usual = write(&|at| fields.put_usual(Ahead::new(at), &slots).map(Ahead::end));
        let long = write(&|at| Some(fields.put(Raw::new(at), &slots)));
        assert_eq!(usual, long.filter(|_| is_usual));
    }

    #[test]
    fn usual_lengths_have_the_bytes_of_all_others() {
        for shift in 0..64 {
            for by in [-1, 0, 1] {
                let value = (1_u64 << shift).wrapping_add_signed(by);
                let takes = put::unsigned_len(value);
                check((Usual::<1, _>(Unsigned64(value)), ()), takes == 1);
                check((Usual::<2, _>(Unsigned64(value)), ()), takes == 2);
                check((Usual::<3, _>(Unsigned64(value)), (Byte(7), ())), takes == 3);
                check((Usual::<4, _>(Unsigned64(value)), (Double(0.5), ())), takes == 4);
                check((Unsigned64(value), (Usual::<1, _>(Unsigned16(3)), ())), takes == 1);
                let signed = value as i64;
                let takes = put::unsigned_len(put::zigzag(signed));
                check((Usual::<2, _>(Signed64(signed)), ()), takes == 2);
                let narrow = put::unsigned_len(put::zigzag((signed as i32).into()));
                check((Usual::<2, _>(Signed32(signed as i32)), ()), narrow == 2);
                check((Usual::<3, _>(Delta::<0>(1000_u64.wrapping_add(value))), ()), takes == 3);
                let two = (Usual::<2, _>(Delta::<1>(value)), (Delta::<0>(1001), (Text::<8>("text"), ())));
                check(two, put::unsigned_len(put::zigzag(value.wrapping_add(1) as i64)) == 2);
            }
        }
        check((Usual::<1, _>(Unsigned32(1)), (Text::<2>("long"), ())), false);
    }
}
