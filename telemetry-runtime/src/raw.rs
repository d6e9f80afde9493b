//! Where the bytes of an event go on their way into a block.
#![allow(unsafe_code)]

use telemetry_format::{put, state};

use crate::block::Block;

/// Where a block's next bytes go. [`Fields::put`](crate::fields::Fields::put) writes no more
/// than [`Fields::bound`](crate::fields::Fields::bound) allows.
///
/// `at` is the block's state word as it would be with these bytes committed, so that committing
/// them takes one addition. `base` makes an address of it: the number of events in the upper half is
/// taken off there.
#[derive(Clone, Copy)]
pub struct Raw {
    base: *mut u8,
    at: u64,
}

impl Raw {
    /// Behind the committed bytes of a block whose state is `state`. There must be room for what
    /// will be written.
    #[inline(always)]
    pub(crate) fn new(block: *const Block, state: u64) -> Raw {
        let (len, _) = state::unpack(state);
        Raw { base: Block::end(block, len).wrapping_sub(state as usize), at: opaque(state) }
    }

    /// The state with one more event, which ends here.
    #[inline(always)]
    pub(crate) fn committed(self) -> u64 {
        self.at.wrapping_add(state::pack(0, 1))
    }

    #[inline(always)]
    fn end(self) -> *mut u8 {
        self.base.wrapping_add(self.at as usize)
    }

    #[inline(always)]
    fn skip(self, bytes: usize) -> Raw {
        Raw { at: self.at.wrapping_add(bytes as u64), ..self }
    }

    /// Copies the first and the last `N` bytes of `N` or more, up to twice as many.
    #[inline(always)]
    fn twice<const N: usize>(self, bytes: &[u8]) {
        if let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) {
            // SAFETY: who made this value has room for all of the bytes.
            unsafe {
                self.end().cast::<[u8; N]>().write_unaligned(*first);
                self.end().add(bytes.len() - N).cast::<[u8; N]>().write_unaligned(*last);
            }
        }
    }
}

/// Hides where a number comes from. The compiler would otherwise split `at` into its start and what
/// is added to it, and add them up again at every step.
#[inline(always)]
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
fn opaque(mut number: u64) -> u64 {
    // SAFETY: no instruction at all.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) number, options(pure, nomem, nostack, preserves_flags));
    }
    number
}

#[inline(always)]
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn opaque(number: u64) -> u64 {
    number
}

impl put::Put for Raw {
    #[inline(always)]
    fn array<const N: usize>(self, bytes: [u8; N]) -> Self {
        // SAFETY: who made this value has `bound` bytes of room, and the fields keep to it.
        unsafe { self.end().cast::<[u8; N]>().write_unaligned(bytes) };
        self.skip(N)
    }

    #[inline(always)]
    fn run(self, bytes: &[u8]) -> Self {
        // SAFETY: as above; a block never overlaps a parameter, since nobody has a reference into it.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.end(), bytes.len()) };
        self.skip(bytes.len())
    }

    #[inline(always)]
    fn low<const N: usize>(self, word: u32) -> Self {
        // SAFETY: as above; a number's bound is four bytes or more.
        unsafe {
            match N {
                // Two for one: with a byte alone the compiler does its arithmetic in bytes, in more steps.
                1 | 2 => self.end().cast::<u16>().write_unaligned((word as u16).to_le()),
                _ => self.end().cast::<u32>().write_unaligned(word.to_le()),
            }
        }
        self.skip(N)
    }

    #[inline(always)]
    fn short_run(self, bytes: &[u8]) -> Option<Self> {
        // Two overlapping copies of one size do for all lengths up to twice that size.
        match bytes.len() {
            0 => {}
            1..4 => bytes.iter().enumerate().for_each(|(at, &byte)| {
                // SAFETY: as above.
                unsafe { self.end().add(at).write(byte) }
            }),
            4..8 => self.twice::<4>(bytes),
            8..16 => self.twice::<8>(bytes),
            16..=32 => self.twice::<16>(bytes),
            _ => return None,
        }
        Some(self.skip(bytes.len()))
    }
}
