//! Where the bytes of an event go on their way into a block.
#![allow(unsafe_code)]

use telemetry_format::put;

/// Where a block's next bytes go. [`Fields::put`](crate::fields::Fields::put) writes no more
/// than [`Fields::bound`](crate::fields::Fields::bound) allows.
///
/// One address and nothing to add to it, so that the lane can keep it from event to event.
#[derive(Clone, Copy)]
pub struct Raw(*mut u8);

impl Raw {
    /// At an address that has room for what will be written.
    #[inline(always)]
    pub(crate) fn new(at: *mut u8) -> Raw {
        Raw(opaque(at))
    }

    /// Behind what was written.
    #[inline(always)]
    pub(crate) fn end(self) -> *mut u8 {
        self.0
    }

    #[inline(always)]
    fn skip(self, bytes: usize) -> Raw {
        Raw(opaque(self.0.wrapping_add(bytes)))
    }

    /// Copies the first and the last `N` bytes of `N` or more, up to twice as many.
    #[inline(always)]
    fn twice<const N: usize>(self, bytes: &[u8]) {
        if let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) {
            // SAFETY: who made this value has room for all of the bytes.
            unsafe {
                self.0.cast::<[u8; N]>().write_unaligned(*first);
                self.0.add(bytes.len() - N).cast::<[u8; N]>().write_unaligned(*last);
            }
        }
    }
}

/// Hides where an address comes from. The compiler would otherwise choose among numbers of bytes first, and add the
/// chosen one afterwards; or add all of them up at every step.
#[inline(always)]
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
fn opaque(mut at: *mut u8) -> *mut u8 {
    // SAFETY: no instruction at all.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) at, options(pure, readonly, nostack, preserves_flags));
    }
    at
}

#[inline(always)]
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn opaque(at: *mut u8) -> *mut u8 {
    at
}

impl put::Put for Raw {
    #[inline(always)]
    fn array<const N: usize>(self, bytes: [u8; N]) -> Self {
        // SAFETY: who made this value has `bound` bytes of room, and the fields keep to it.
        unsafe { self.0.cast::<[u8; N]>().write_unaligned(bytes) };
        self.skip(N)
    }

    #[inline(always)]
    fn run(self, bytes: &[u8]) -> Self {
        // SAFETY: as above; a block never overlaps a parameter, since nobody has a reference into it.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0, bytes.len()) };
        self.skip(bytes.len())
    }

    #[inline(always)]
    fn low<const N: usize>(self, word: u32) -> Self {
        // SAFETY: as above; a number's bound is four bytes or more.
        unsafe {
            match N {
                // Two for one: with a byte alone the compiler does its arithmetic in bytes, in more steps.
                1 | 2 => self.0.cast::<u16>().write_unaligned((word as u16).to_le()),
                _ => self.0.cast::<u32>().write_unaligned(word.to_le()),
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
                unsafe { self.0.add(at).write(byte) }
            }),
            4..8 => self.twice::<4>(bytes),
            8..16 => self.twice::<8>(bytes),
            16..=32 => self.twice::<16>(bytes),
            _ => return None,
        }
        Some(self.skip(bytes.len()))
    }
}
