//! Time: the cycle counter if its rate is constant, else the system's monotonic clock.
#![allow(unsafe_code)]

use crate::run::settings;
use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};

/// True on machines whose cycle counter changes its rate, and on request. [`init`] sets it. The
/// first events of a program may be timed before that, but their blocks are opened after it.
static OS_CLOCK: AtomicBool = AtomicBool::new(false);

/// Returns the current reading of the clock, in ticks.
pub(crate) fn ticks() -> u64 {
    if is_counter() { counter() } else { sys::monotonic_ns() }
}

/// Returns the same as [`ticks`], but reads after all earlier loads have finished. Otherwise a
/// processor may read the counter while it waits for them.
pub(crate) fn ticks_after_loads() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction, which only waits.
    unsafe {
        core::arch::x86_64::_mm_lfence()
    };
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: the instruction only waits.
    unsafe {
        core::arch::asm!("isb", options(nostack, preserves_flags))
    };
    ticks()
}

/// Returns true if ticks are those of [`counter`].
pub(crate) fn is_counter() -> bool {
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) && !OS_CLOCK.load(Ordering::Relaxed)
}

/// Returns the cycle counter. Use only if [`is_counter`].
#[inline(always)]
pub(crate) fn counter() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: every x86-64 processor has the instruction. User code may execute it unless the
        // process has asked the system to forbid it, with `prctl(PR_SET_TSC)`.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let ticks: u64;
        // SAFETY: reads the virtual counter, and touches neither memory nor flags. User code may do
        // so on every system that Rust's standard library supports.
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

/// Chooses the clock. Called once, before any reading of it matters. `TELEMETRY_CLOCK=os` is for
/// machines whose counter claims a constant rate and does not have it.
pub(crate) fn init() {
    let is_wished = settings::setting(c"TELEMETRY_CLOCK", "`os`", |text| (text == "os").then_some(()));
    OS_CLOCK.store(is_wished.is_some() || !counter_is_invariant(), Ordering::Relaxed);
}

/// Returns the name of the clock, as session blocks contain it.
pub(crate) fn name() -> &'static str {
    match (OS_CLOCK.load(Ordering::Relaxed), cfg!(target_arch = "x86_64")) {
        (true, _) => "os",
        (false, true) => "tsc",
        (false, false) => "cntvct",
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn counter_is_invariant() -> bool {
    // Leaf 0x8000_0007, EDX bit 8: the counter has one rate in all power states.
    sys::highest_extended() >= 0x8000_0007 && sys::cpuid(0x8000_0007).edx & 1 << 8 != 0
}

/// The architecture gives the generic timer one rate. Miri has no counter, and also takes this
/// function.
#[cfg(any(target_arch = "aarch64", miri))]
fn counter_is_invariant() -> bool {
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", miri)))]
fn counter_is_invariant() -> bool {
    false
}

/// One moment, by both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// The reading of [`ticks`].
    pub(crate) ticks: u64,
    /// Nanoseconds since 1970-01-01 UTC. The system's clock is read once, and this time then
    /// advances with the monotonic clock. So steps of the system's clock are not visible.
    pub(crate) wall: u64,
}

impl Moment {
    /// Returns the wall time of a reading, by the rate between this moment and a later one.
    pub(crate) fn wall_at(self, ticks: u64, later: Moment) -> u64 {
        let since = |later: u64, earlier: u64| u128::from(later.saturating_sub(earlier));
        let ns = since(later.wall, self.wall) * since(ticks, self.ticks);
        let ns = ns / since(later.ticks, self.ticks).max(1);
        self.wall.saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// Reads both clocks at one moment.
///
/// The thread may lose its processor between the two readings, so the tightest of several tries
/// counts.
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
