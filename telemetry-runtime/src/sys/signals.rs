//! Signals that the program shall not get because of us.
#![allow(unsafe_code)]

use core::mem::zeroed;
use core::ptr::null_mut;

/// Does what may write to a pipe or a socket that nobody reads: an error, and no signal, whatever
/// the program does about those.
pub(crate) fn without_sigpipe<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: all zeros is a valid set, which the calls fill.
    let pipe = unsafe {
        let mut pipe = zeroed();
        libc::sigemptyset(&mut pipe);
        libc::sigaddset(&mut pipe, libc::SIGPIPE);
        pipe
    };
    // In this order, so that the signal is taken before the mask lets it through.
    let _blocked = Blocked::new(&pipe);
    let _taken = Taken { pipe, was_pending: is_pipe_pending() };
    work()
}

/// Does what may start threads that run as long as they like: none of them ever runs a handler of the
/// program.
pub(crate) fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: all zeros is a valid set, which the call fills.
    let all = unsafe {
        let mut all = zeroed();
        libc::sigfillset(&mut all);
        all
    };
    let _blocked = Blocked::new(&all);
    work()
}

fn is_pipe_pending() -> bool {
    // SAFETY: the set is ours, and filled before it is looked at.
    unsafe {
        let mut pending = zeroed();
        libc::sigpending(&mut pending);
        libc::sigismember(&pending, libc::SIGPIPE) == 1
    }
}

/// Takes the signal, if there is one that was not there before.
struct Taken {
    pipe: libc::sigset_t,
    was_pending: bool,
}

impl Drop for Taken {
    fn drop(&mut self) {
        if !self.was_pending && is_pipe_pending() {
            // SAFETY: the signal is blocked and pending, so the call returns with it at once.
            unsafe { libc::sigwait(&self.pipe, &mut 0) };
        }
    }
}

/// This thread's mask as it was, for as long as some signals are blocked.
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
        // SAFETY: the set is the one that the system gave us.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, null_mut()) };
    }
}
