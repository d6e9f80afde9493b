//! Time: the cycle counter where it runs at one rate, else the system's monotonic clock.
#![allow(unsafe_code)]

use crate::sync::{AtomicBool, Ordering};
use crate::{start, sys};

/// Set by [`init`] on machines whose cycle counter changes its rate, or on request. A program's first events may
/// be timed before; their blocks are opened after.
static OS_CLOCK: AtomicBool = AtomicBool::new(false);

/// The clock's reading now, in ticks.
pub(crate) fn ticks() -> u64 {
    if is_counter() { counter() } else { sys::monotonic_ns() }
}

/// As [`ticks`], and not before the loads that precede it are done: a processor may else read the counter
/// while it waits for them.
pub(crate) fn ticks_after_loads() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction; it only waits.
    unsafe {
        core::arch::x86_64::_mm_lfence()
    };
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: waits only.
    unsafe {
        core::arch::asm!("isb", options(nostack, preserves_flags))
    };
    ticks()
}

/// True if ticks are those of [`counter`].
pub(crate) fn is_counter() -> bool {
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) && !OS_CLOCK.load(Ordering::Relaxed)
}

/// The cycle counter. Only where [`is_counter`].
#[inline(always)]
pub(crate) fn counter() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: every x86-64 processor has the instruction, and user code may use it unless the
        // system forbids it for the process, which `prctl(PR_SET_TSC)` does on request only.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let ticks: u64;
        // SAFETY: reads the virtual counter, which user code may do on every system that Rust's
        // standard library supports; no memory or flags are touched.
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
        };
        ticks
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        sys::monotonic_ns()
    }
}

/// Chooses the clock. Called once, before anything that reads it matters. `TELEMETRY_CLOCK=os` is for
/// machines whose counter says that it can be relied on and cannot.
pub(crate) fn init() {
    let is_wished = start::setting(c"TELEMETRY_CLOCK", "`os`", |text| (text == "os").then_some(()));
    OS_CLOCK.store(is_wished.is_some() || !counter_is_invariant(), Ordering::Relaxed);
}

/// The name of the clock, as session blocks have it.
pub(crate) fn name() -> &'static str {
    match (OS_CLOCK.load(Ordering::Relaxed), cfg!(target_arch = "x86_64")) {
        (true, _) => "os",
        (false, true) => "tsc",
        (false, false) => "cntvct",
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn counter_is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    // Leaf 0x8000_0007, EDX bit 8: the counter runs at one rate in all power states.
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 1 << 8 != 0
}

/// The generic timer has one rate by its architecture; and miri, which has no counter, takes the same way.
#[cfg(any(target_arch = "aarch64", miri))]
fn counter_is_invariant() -> bool {
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", miri)))]
fn counter_is_invariant() -> bool {
    false
}

/// One moment by both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// By [`ticks`].
    pub(crate) ticks: u64,
    /// Nanoseconds since 1970-01-01 UTC. Steps of the system's clock do not show: it is read once,
    /// and advances with the monotonic clock.
    pub(crate) wall: u64,
}

/// Reads both clocks at one moment.
///
/// The thread may lose its processor between the two readings; the tightest of a few tries is kept.
pub(crate) fn now() -> Moment {
    let mut best = (u64::MAX, Moment { ticks: 0, wall: 0 });
    for _ in 0..3 {
        let (before, wall, after) = (ticks(), sys::wall_ns(), ticks());
        let gap = after.wrapping_sub(before);
        if gap < best.0 {
            best = (gap, Moment { ticks: before.wrapping_add(gap / 2), wall });
        }
        if gap < 2_000 {
            break;
        }
    }
    best.1
}
