//! The place in a block where an event's bytes go.
#![allow(unsafe_code)]

use telemetry_format::put;

/// The address of a block's next bytes. [`Fields::put`](crate::model::fields::Fields::put) writes
/// at most [`Fields::bound`](crate::model::fields::Fields::bound) bytes there.
///
/// It is one address without an offset, so that the lane can keep it from event to event.
#[derive(Clone, Copy)]
pub struct Raw(*mut u8);

impl Raw {
    /// Creates a value from an address with room for all that will be written.
    #[inline(always)]
    pub(crate) fn new(at: *mut u8) -> Raw {
        Raw(opaque(at))
    }

    /// Returns the address after what was written.
    #[inline(always)]
    pub(crate) fn end(self) -> *mut u8 {
        self.0
    }

    #[inline(always)]
    fn skip(self, bytes: usize) -> Raw {
        Raw(opaque(self.0.wrapping_add(bytes)))
    }

    /// Copies the first and the last `N` bytes, of `N` to twice as many bytes.
    #[inline(always)]
    fn twice<const N: usize>(self, bytes: &[u8]) {
        if let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) {
            // SAFETY: the code that made this value has room for all of the bytes.
            unsafe {
                self.0.cast::<[u8; N]>().write_unaligned(*first);
                self.0.add(bytes.len() - N).cast::<[u8; N]>().write_unaligned(*last);
            }
        }
    }
}

/// Bytes that follow an address, at offsets that the compiler knows: those that they have if each
/// number takes its usual length. Where one takes another length, the address is moved by the
/// difference. So the usual case advances the address once, at the end.
#[derive(Clone, Copy)]
pub struct Ahead {
    base: Raw,
    offset: usize,
}

impl Ahead {
    /// Begins at an address with room for all that will be written.
    #[inline(always)]
    pub(crate) fn new(at: *mut u8) -> Ahead {
        Ahead { base: Raw::new(at), offset: 0 }
    }

    /// Returns the address after what was written.
    #[inline(always)]
    pub(crate) fn end(self) -> *mut u8 {
        opaque(self.here().0)
    }

    #[inline(always)]
    fn here(self) -> Raw {
        Raw(self.base.0.wrapping_add(self.offset))
    }

    /// Moves on by some bytes. The offset grows by `USUAL`, and the base by the difference.
    #[inline(always)]
    fn skip<const USUAL: usize>(self, bytes: usize) -> Ahead {
        let base = self.base.0.wrapping_add(bytes).wrapping_sub(USUAL);
        Ahead { base: Raw(opaque(base)), offset: self.offset + USUAL }
    }
}

impl put::Put for Ahead {
    #[inline(always)]
    fn array<const N: usize>(self, bytes: [u8; N]) -> Self {
        self.here().array(bytes);
        Ahead { offset: self.offset + N, ..self }
    }

    #[inline(always)]
    fn run(self, bytes: &[u8]) -> Self {
        self.here().run(bytes);
        self.skip::<0>(bytes.len())
    }

    #[inline(always)]
    fn low<const N: usize, const USUAL: usize>(self, word: u32) -> Self {
        self.here().low::<N, USUAL>(word);
        if N == USUAL { Ahead { offset: self.offset + N, ..self } } else { self.skip::<USUAL>(N) }
    }

    #[inline(always)]
    fn short_run(self, bytes: &[u8]) -> Option<Self> {
        self.here().short_run(bytes)?;
        Some(self.skip::<0>(bytes.len()))
    }
}

/// Hides the origin of an address from the compiler. Otherwise it would first select among numbers
/// of bytes and then add the selected one, or add all of them at every step.
#[inline(always)]
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
fn opaque(mut at: *mut u8) -> *mut u8 {
    // SAFETY: contains no instruction.
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
        // SAFETY: the code that made this value has `bound` bytes of room, and the fields write no
        // more.
        unsafe { self.0.cast::<[u8; N]>().write_unaligned(bytes) };
        self.skip(N)
    }

    #[inline(always)]
    fn run(self, bytes: &[u8]) -> Self {
        // SAFETY: as above; a block never overlaps a parameter, since there is no reference into
        // the block.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0, bytes.len()) };
        self.skip(bytes.len())
    }

    #[inline(always)]
    fn low<const N: usize, const USUAL: usize>(self, word: u32) -> Self {
        // SAFETY: as above; the bound of a number is at least four bytes.
        unsafe {
            match N {
                // Two bytes even for one: with one byte, the compiler computes in bytes, which
                // takes more steps.
                1 | 2 => self.0.cast::<u16>().write_unaligned((word as u16).to_le()),
                _ => self.0.cast::<u32>().write_unaligned(word.to_le()),
            }
        }
        self.skip(N)
    }

    #[inline(always)]
    fn short_run(self, bytes: &[u8]) -> Option<Self> {
        // Two overlapping copies of one size suffice for all lengths up to twice that size.
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
