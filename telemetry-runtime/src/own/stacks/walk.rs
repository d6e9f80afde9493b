//! The walk from frame to frame: each frame has the address of the caller's frame, and after it the
//! place where the caller goes on.
//!
//! On the thread's own stack, whose bounds are known, it reads memory directly, from the stack
//! pointer upward. All of that is mapped as long as the thread runs, so that no frame can lead to a
//! fault. On other stacks, of signal handlers and fibers, the system reads.
#![allow(unsafe_code)]

use core::arch::asm;
use core::mem::MaybeUninit;

use crate::own::registry::{MAX_FRAMES, StackEnd};
use crate::own::stacks::bounds;
#[cfg(all(feature = "unwind", target_env = "gnu"))]
use crate::own::stacks::unwind;
use crate::sys::maps;

/// A call stack.
pub(crate) struct Walk {
    frames: MaybeUninit<[u64; MAX_FRAMES]>,
    /// The number of frames that were written.
    len: usize,
    /// The sum of each frame times its factor.
    sum: u64,
    pub(crate) end: StackEnd,
}

/// Returns the place of this code, and the frame of the function that it is inlined into. If that
/// function has no frame, the register has a frame of one of its callers, or anything.
#[inline(always)]
pub(crate) fn here() -> (u64, u64) {
    let (code, frame): (u64, u64);
    // SAFETY: reads two registers.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("lea {}, [rip]", "mov {}, rbp", out(reg) code, out(reg) frame, options(nomem, nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        asm!("adr {}, .", "mov {}, x29", out(reg) code, out(reg) frame, options(nomem, nostack, preserves_flags));
    }
    (code, frame)
}

/// What the unwinder must know of the function that emits: all that it calls is below.
#[derive(Clone, Copy)]
pub(crate) struct Low {
    #[cfg(all(feature = "unwind", target_env = "gnu"))]
    pub(crate) pointer: u64,
}

impl Low {
    /// Takes the stack pointer of the function that this is inlined into.
    #[inline(always)]
    pub(crate) fn here() -> Low {
        Low {
            #[cfg(all(feature = "unwind", target_env = "gnu"))]
            pointer: stack_pointer(),
        }
    }

    /// Takes the frame of a function.
    #[inline(always)]
    pub(crate) fn of(frame: u64) -> Low {
        let _ = frame;
        Low {
            #[cfg(all(feature = "unwind", target_env = "gnu"))]
            pointer: frame,
        }
    }
}

/// Returns the stack pointer, which is below the frames of all callers.
#[inline(always)]
fn stack_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: reads a register.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

impl Walk {
    /// Makes one without frames. A constant of this type would be zeroed with its frames.
    #[inline(always)]
    pub(crate) fn new(place: &mut MaybeUninit<Walk>) -> &mut Walk {
        let at = place.as_mut_ptr();
        // SAFETY: the fields that need a value get one.
        unsafe {
            (&raw mut (*at).len).write(0);
            (&raw mut (*at).sum).write(0);
            (&raw mut (*at).end).write(StackEnd::Limit);
            place.assume_init_mut()
        }
    }

    /// Walks from a frame. The first place is `code`. In place, since a copy takes as long as the
    /// walk.
    #[inline(always)]
    pub(crate) fn take(&mut self, code: u64, frame: u64, low: Low) {
        // There is a first place even if a caller in C does not know it.
        self.push(code.max(1));
        let pointer = stack_pointer();
        #[cfg(all(feature = "unwind", target_env = "gnu"))]
        if bounds::top(pointer).is_some() {
            if unwind::climb(low.pointer, &mut |code| self.push(code)) {
                self.end = StackEnd::Complete;
            }
            if self.len > 1 {
                return;
            }
        }
        let _ = low;
        self.walk(frame, pointer);
    }

    /// Does the same by frame pointers for code that a signal handler interrupts, with the stack
    /// pointer that it had.
    #[inline(always)]
    pub(crate) fn take_above(&mut self, code: u64, frame: u64, pointer: u64) {
        self.push(code.max(1));
        self.walk(frame, pointer);
    }

    /// Walks from frame to frame.
    #[inline(always)]
    fn walk(&mut self, frame: u64, pointer: u64) {
        match bounds::top(pointer) {
            Some(top) => self.climb(frame, pointer, top),
            None => self.grope(frame),
        }
    }

    #[cfg(test)]
    pub(crate) fn of(frames: &[u64], end: StackEnd) -> Walk {
        let mut walk = Walk { frames: MaybeUninit::uninit(), len: 0, sum: 0, end };
        assert!(frames.iter().all(|frame| walk.push(*frame)));
        walk
    }

    /// Returns the places of the code, that of the emitter first. There is at least one.
    #[inline(always)]
    pub(crate) fn frames(&self) -> &[u64] {
        // SAFETY: as many were written, and their number is at most that of the array's places.
        unsafe { core::slice::from_raw_parts(self.frames.as_ptr().cast(), self.len) }
    }

    /// Returns a hash of the frames and of what else says which stack it is. Its upper bits are the
    /// best. The addresses of code are no one's choice, so that a fast hash suffices.
    #[inline(always)]
    pub(crate) fn hash(&self) -> u64 {
        let sum = self.sum.wrapping_add(self.form());
        (sum ^ sum >> 32).wrapping_mul(FACTORS[0])
    }

    /// Returns the end and the number of frames: less than 2^32.
    #[inline(always)]
    pub(crate) fn form(&self) -> u64 {
        u64::from(self.end.repr()) << 8 | self.len as u64
    }

    /// Returns the walk before the first place that is no code, if there is such a place: what has
    /// led there was no frame.
    pub(crate) fn cut(&self, mut is_code: impl FnMut(u64) -> bool) -> Option<Walk> {
        let wrong = self.frames().iter().position(|&code| !is_code(code)).filter(|&wrong| wrong > 0)?;
        let sum = sum(&self.frames()[..wrong]);
        Some(Walk { frames: self.frames, len: wrong, sum, end: StackEnd::NoFramePointer })
    }

    /// Walks up a stack that is mapped from `low` to `top`.
    #[inline(always)]
    fn climb(&mut self, mut frame: u64, mut low: u64, top: u64) {
        let start = low;
        // In registers: through memory, each frame would wait for the one before it.
        let (mut len, mut sum) = (self.len, self.sum);
        self.end = loop {
            if frame < low || frame > top - 16 || !frame.is_multiple_of(8) {
                break why(frame, start, top);
            }
            let at = core::ptr::with_exposed_provenance::<[u64; 2]>(frame as usize);
            // SAFETY: aligned, and inside the thread's own stack, above the stack pointer. Other
            // code of this thread wrote there, and cannot do so meanwhile.
            let [next, code] = unsafe { at.read_volatile() };
            let code = address(code);
            if code == 0 {
                break StackEnd::Complete;
            }
            let Some(factor) = FACTORS.get(len) else { break StackEnd::Limit };
            // SAFETY: there are as many places as factors.
            unsafe { self.frames.as_mut_ptr().cast::<u64>().add(len).write(code) };
            sum = sum.wrapping_add(code.wrapping_mul(*factor));
            len += 1;
            // The stack grows downward, so frames of callers are higher. So the walk ends.
            (low, frame) = (frame + 16, next);
        };
        (self.len, self.sum) = (len, sum);
    }

    /// Walks a stack of unknown bounds. One step may lead downward: from the stack of a signal
    /// handler to that of the code that it interrupts.
    #[cold]
    #[inline(never)]
    fn grope(&mut self, mut frame: u64) {
        maps::quietly(|| {
            let (mut low, mut has_jumped) = (0, false);
            loop {
                if frame == 0 || !frame.is_multiple_of(8) || frame < low && has_jumped {
                    self.end = if frame == 0 { StackEnd::Complete } else { StackEnd::Corrupt };
                    return;
                }
                has_jumped |= frame < low;
                let mut bytes = [[0; 8]; 2];
                if !maps::read_memory(frame, bytes.as_flattened_mut()) {
                    self.end = StackEnd::NoFramePointer;
                    return;
                }
                let [next, code] = bytes.map(u64::from_ne_bytes);
                if !self.push(code) {
                    return;
                }
                (low, frame) = (frame + 16, next);
            }
        });
    }

    /// Adds the place where a caller goes on. Returns false, and why, if the walk ends there.
    #[inline(always)]
    fn push(&mut self, code: u64) -> bool {
        let code = address(code);
        if code == 0 {
            self.end = StackEnd::Complete;
            return false;
        }
        // The end is the limit unless something else says so.
        if self.len == MAX_FRAMES {
            return false;
        }
        // SAFETY: there are more places than frames.
        unsafe { self.frames.as_mut_ptr().cast::<u64>().add(self.len).write(code) };
        // The products do not wait for each other.
        self.sum = self.sum.wrapping_add(code.wrapping_mul(FACTORS[self.len]));
        self.len += 1;
        true
    }
}

/// Returns the sum that [`Walk::push`] makes of frames.
fn sum(frames: &[u64]) -> u64 {
    let products = frames.iter().zip(&FACTORS).map(|(frame, factor)| frame.wrapping_mul(*factor));
    products.fold(0, u64::wrapping_add)
}

/// An odd number for each frame.
static FACTORS: [u64; MAX_FRAMES] = {
    let (mut factors, mut state, mut at) = ([0; MAX_FRAMES], 0_u64, 0);
    while at < MAX_FRAMES {
        // The generator `splitmix64`.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        factors[at] = (mixed ^ mixed >> 31) | 1;
        at += 1;
    }
    factors
};

/// Returns an address without the upper bits, which sign it on some processors.
#[inline(always)]
fn address(code: u64) -> u64 {
    if cfg!(target_arch = "aarch64") { code & 0x0000_ffff_ffff_ffff } else { code }
}

/// Says why a walk ends at this frame.
fn why(frame: u64, start: u64, top: u64) -> StackEnd {
    match frame {
        0 => StackEnd::Complete,
        _ if (start..top).contains(&frame) => StackEnd::Corrupt,
        _ => StackEnd::NoFramePointer,
    }
}
