//! What the processor says of itself.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86")]
use core::arch::x86::{__cpuid, CpuidResult};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__cpuid, CpuidResult};

use crate::sys::atomic::{AtomicU32, Ordering};

/// Returns a leaf of the processor's description. Leaves above the highest one have no meaning.
#[allow(unused_unsafe, reason = "a call is unsafe in the oldest supported Rust only")]
pub(crate) fn cpuid(leaf: u32) -> CpuidResult {
    // SAFETY: every processor of these targets has the instruction.
    unsafe { __cpuid(leaf) }
}

/// Returns the highest leaf from 0x8000_0000 on. The processor is asked once: a virtual machine
/// leaves to its host for each answer.
pub(crate) fn highest_extended() -> u32 {
    static KNOWN: AtomicU32 = AtomicU32::new(0);
    if KNOWN.load(Ordering::Relaxed) == 0 {
        KNOWN.store(cpuid(0x8000_0000).eax, Ordering::Relaxed);
    }
    KNOWN.load(Ordering::Relaxed)
}
