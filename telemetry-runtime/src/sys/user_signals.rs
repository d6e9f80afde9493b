//! Signals by which a user asks a program for something, and how often each came.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, transmute, zeroed};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::OnceLock;

use crate::sys::user_signal_names::NAMES;

/// The signals, in the order of their names.
const SIGNALS: [c_int; NAMES.len()] =
    [libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH];

/// How often each came.
static COUNTS: [AtomicU32; NAMES.len()] = [const { AtomicU32::new(0) }; NAMES.len()];
/// True for each that has the handler.
static HANDLED: [AtomicBool; NAMES.len()] = [const { AtomicBool::new(false) }; NAMES.len()];
/// What is called for each signal.
static WAKE: OnceLock<fn()> = OnceLock::new();

/// The actions from before the handler.
struct Before([UnsafeCell<MaybeUninit<libc::sigaction>>; NAMES.len()]);

// SAFETY: each action is written once, before its handler is set, and only read afterwards.
unsafe impl Sync for Before {}

static BEFORE: Before = Before([const { UnsafeCell::new(MaybeUninit::uninit()) }; NAMES.len()]);

/// Counts a signal from now on, and calls `wake` whenever it comes. `wake` must be safe in a signal
/// handler. A handler that the program has is called, too. The handler stays for good, because one
/// that was set afterwards may call it.
pub(crate) fn count_signal(index: usize, wake: fn()) {
    WAKE.get_or_init(|| wake);
    if HANDLED[index].swap(true, Ordering::AcqRel) {
        return;
    }
    let before = BEFORE.0[index].get();
    // SAFETY: all zeros is valid for an action. Only this call writes `before`, and no handler
    // reads it yet. The call cannot fail for a signal that exists.
    let before = unsafe {
        before.write(MaybeUninit::new(zeroed()));
        libc::sigaction(SIGNALS[index], core::ptr::null(), before.cast());
        (*before).assume_init_ref()
    };
    // SAFETY: all zeros is valid for an action. The handler has the signature that `SA_SIGINFO`
    // asks for.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        action.sa_mask = before.sa_mask;
        // Calls that wait go on as they would without this handler.
        if !has_handler(before) || before.sa_flags & libc::SA_RESTART != 0 {
            action.sa_flags |= libc::SA_RESTART;
        }
        libc::sigaction(SIGNALS[index], &action, null_mut());
    }
}

/// Returns how often a signal came since it is counted.
pub(crate) fn signals_so_far(index: usize) -> u32 {
    COUNTS[index].load(Ordering::Acquire)
}

fn has_handler(action: &libc::sigaction) -> bool {
    action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN
}

/// The handler. `wake` wakes a thread, which does not change `errno`: it makes no call that fails.
extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(index) = SIGNALS.iter().position(|known| *known == signal) else { return };
    COUNTS[index].fetch_add(1, Ordering::Release);
    if let Some(wake) = WAKE.get() {
        wake();
    }
    // SAFETY: the action was stored before this handler was set.
    let before = unsafe { (*BEFORE.0[index].get()).assume_init_ref() };
    if !has_handler(before) {
        return;
    }
    let handler = before.sa_sigaction;
    if before.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: the flag says that the handler has this signature.
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = unsafe { transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: without the flag the handler has this signature.
        let handler: extern "C" fn(c_int) = unsafe { transmute(handler) };
        handler(signal);
    }
}
