//! Keeps the program from signals that the runtime would cause.
#![allow(unsafe_code)]

use core::mem::zeroed;
use core::ptr::null_mut;

/// Runs code that may write to a pipe or socket without a reader. Such a write returns an error and
/// raises no signal, whatever the program does about signals.
pub(crate) fn without_sigpipe<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: all zeros is a valid set, and the calls fill it.
    let pipe = unsafe {
        let mut pipe = zeroed();
        libc::sigemptyset(&mut pipe);
        libc::sigaddset(&mut pipe, libc::SIGPIPE);
        pipe
    };
    // In this order, so that the signal is consumed before the mask lets it through.
    let _blocked = Blocked::new(&pipe);
    let _taken = Taken { pipe, was_pending: is_pipe_pending() };
    work()
}

/// Runs code that may start threads. Those threads inherit the mask, and so never run a signal
/// handler of the program.
pub(crate) fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: all zeros is a valid set, and the call fills it.
    let all = unsafe {
        let mut all = zeroed();
        libc::sigfillset(&mut all);
        all
    };
    let _blocked = Blocked::new(&all);
    work()
}

/// Returns true if this thread may be in a signal handler: it blocks a signal that has a handler.
/// Handlers with `SA_NODEFER` are not noticed. Takes no lock and does not allocate.
pub(crate) fn may_be_in_handler() -> bool {
    // SAFETY: all zeros is a valid set, and the call fills it.
    let blocked = unsafe {
        let mut blocked = zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, core::ptr::null(), &mut blocked);
        blocked
    };
    (1..=MAX_SIGNAL).any(|signal| {
        // SAFETY: all zeros is valid for the action, which the call fills unless it fails. It
        // changes nothing.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            libc::sigismember(&blocked, signal) == 1
                && libc::sigaction(signal, core::ptr::null(), &mut action) == 0
                && action.sa_sigaction != libc::SIG_DFL
                && action.sa_sigaction != libc::SIG_IGN
        }
    })
}

/// The largest number of a signal on any system.
const MAX_SIGNAL: libc::c_int = 128;

fn is_pipe_pending() -> bool {
    // SAFETY: the call fills the set before it is read.
    unsafe {
        let mut pending = zeroed();
        libc::sigpending(&mut pending);
        libc::sigismember(&pending, libc::SIGPIPE) == 1
    }
}

/// On drop, consumes the signal if it was not pending before.
struct Taken {
    pipe: libc::sigset_t,
    was_pending: bool,
}

impl Drop for Taken {
    fn drop(&mut self) {
        if !self.was_pending && is_pipe_pending() {
            // SAFETY: the signal is blocked and pending, so the call returns at once.
            unsafe { libc::sigwait(&self.pipe, &mut 0) };
        }
    }
}

/// The previous mask of this thread, which is restored on drop.
struct Blocked(libc::sigset_t);

impl Blocked {
    fn new(set: &libc::sigset_t) -> Blocked {
        // SAFETY: both sets are valid.
        unsafe {
            let mut before = zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, set, &mut before);
            Blocked(before)
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the system returned this set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, null_mut()) };
    }
}
