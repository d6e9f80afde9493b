//! What the processor says of itself.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86")]
use core::arch::x86::{__cpuid, CpuidResult};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__cpuid, CpuidResult};

/// Returns a leaf of the processor's description. Leaves above the highest one have no meaning.
#[allow(unused_unsafe, reason = "a call is unsafe in the oldest supported Rust only")]
pub(crate) fn cpuid(leaf: u32) -> CpuidResult {
    // SAFETY: every processor of these targets has the instruction.
    unsafe { __cpuid(leaf) }
}
