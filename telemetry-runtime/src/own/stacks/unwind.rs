//! The walk by unwinding tables, which code without frame pointers has too. The unwinder is that of
//! the standard library.
//!
//! With the C library's `_dl_find_object`, the unwinder neither allocates nor locks. Without it,
//! and in code that interrupts the unwinder, frames are walked.
#![allow(unsafe_code)]

use core::arch::asm;
use core::cell::Cell;
use core::ffi::{c_int, c_void};

/// What the unwinder returns after the first function.
const END_OF_STACK: c_int = 5;
/// What a step returns: go on, and stop.
const GO_ON: c_int = 0;
const STOP: c_int = 4;

unsafe extern "C-unwind" {
    fn _Unwind_Backtrace(step: extern "C" fn(*mut c_void, *mut c_void) -> c_int, climb: *mut c_void)
    -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

std::thread_local! {
    static IS_UNWINDING: Cell<bool> = const { Cell::new(false) };
}

struct Climb<'a> {
    push: &'a mut dyn FnMut(u64) -> bool,
    /// The stack pointer of the emitter's function.
    low: u64,
}

/// Passes the callers of the function with this stack pointer to a function, until that returns
/// false. Returns true if the first function of the thread was reached. Passes none if the unwinder
/// must not be called.
#[inline(never)]
pub(crate) fn climb(low: u64, push: &mut dyn FnMut(u64) -> bool) -> bool {
    if !has_find_object() || IS_UNWINDING.replace(true) {
        return false;
    }
    let mut climb = Climb { push, low };
    // SAFETY: the step is called with the pointer that it is given, before this returns.
    let result = unsafe { _Unwind_Backtrace(step, (&raw mut climb).cast()) };
    IS_UNWINDING.set(false);
    result == END_OF_STACK
}

/// Takes a function. Those of the runtime are below the emitter's.
extern "C" fn step(context: *mut c_void, climb: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes its context, and the pointer that it was given, whose fields are
    // used by nothing else meanwhile.
    let (climb, code, pointer) = unsafe {
        (&mut *climb.cast::<Climb<'_>>(), _Unwind_GetIP(context) as u64, _Unwind_GetCFA(context) as u64)
    };
    if pointer <= climb.low || (climb.push)(code) { GO_ON } else { STOP }
}

core::arch::global_asm!(".weak _dl_find_object");

/// Returns true if the C library has the function, with which the unwinder finds tables.
fn has_find_object() -> bool {
    let address: usize;
    // SAFETY: reads a word that the linker fills: the address of a symbol, or 0.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, qword ptr [rip + _dl_find_object@GOTPCREL]", out(reg) address, options(nostack, readonly, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        asm!("adrp {0}, :got:_dl_find_object", "ldr {0}, [{0}, :got_lo12:_dl_find_object]", out(reg) address, options(nostack, readonly, preserves_flags));
    }
    address != 0
}
