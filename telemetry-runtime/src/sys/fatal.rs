//! Signals that usually end a program, and the actions that they had before.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, zeroed};
use core::ptr::null_mut;
use std::sync::OnceLock;

/// A signal that a thread got.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) signal: c_int,
    /// The cause. 0 or less if a process or thread sent the signal.
    pub(crate) code: c_int,
    /// The address of the access or the instruction; 0 if the signal was sent.
    pub(crate) address: u64,
}

/// The signals, in the order of their previous actions.
const SIGNALS: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP, libc::SIGSYS];

/// What is called for each fault.
static REPORT: OnceLock<fn(Fault)> = OnceLock::new();

/// The actions from before [`handle_fatal`].
struct Before([UnsafeCell<MaybeUninit<libc::sigaction>>; SIGNALS.len()]);

// SAFETY: each action is written before the first handler is set, and only read afterwards.
unsafe impl Sync for Before {}

static BEFORE: Before = Before([const { UnsafeCell::new(MaybeUninit::uninit()) }; SIGNALS.len()]);

/// Makes the first fatal signal call `report`. Then all of them do what they did before. Called
/// once. A thread with an alternate stack runs it there.
pub(crate) fn handle_fatal(report: fn(Fault)) {
    if REPORT.set(report).is_err() {
        return;
    }
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE.0) {
        // SAFETY: all zeros is valid for an action. Nothing else uses `before` until the handlers
        // are set. The call cannot fail for a signal that exists.
        unsafe {
            before.get().write(MaybeUninit::new(zeroed()));
            libc::sigaction(signal, core::ptr::null(), before.get().cast());
        }
    }
    for signal in SIGNALS {
        // SAFETY: all zeros is valid for an action without handler and mask. The handler has the
        // signature that `SA_SIGINFO` asks for.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction =
                on_fault as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, null_mut());
        }
    }
}

/// The handler. The signal is blocked meanwhile. So the kernel ends the process at once if this
/// code has a fault, too.
extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the location is that of this thread.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes what it knows of the signal.
    let code = unsafe { info.as_ref() }.map_or(0, |info| info.si_code);
    // SAFETY: a signal that the kernel caused has an address, or zeros in its place.
    let address = if code > 0 { unsafe { (*info).si_addr() }.addr() as u64 } else { 0 };
    if let Some(report) = REPORT.get() {
        report(Fault { signal, code, address });
    }
    // All of them: the action from before may raise another signal, on the same small stack.
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE.0) {
        // SAFETY: all actions were stored before the first handler was set.
        unsafe { libc::sigaction(signal, before.get().cast_const().cast(), null_mut()) };
    }
    // An instruction with a fault is repeated after this handler, and meets the action from before.
    // What is not repeated is raised again, and comes when this handler returns.
    let is_repeated = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE);
    if code <= 0 || !is_repeated {
        // SAFETY: takes no pointers.
        unsafe { libc::raise(signal) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}
