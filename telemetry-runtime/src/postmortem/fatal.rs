//! The event of a signal that usually ends the program.

use core::time::Duration;

use crate::emit::thread;
use crate::own::registry::{self as own, Signal};
use crate::run::state;
use crate::run::wake::{ask_sweep, is_passing, is_swept};
use crate::sys::{self, Fault};

/// How long the thread waits until the sinks have its events.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(1);

/// Makes fatal signals emit an event. In a shared library nothing is changed: the handler's first
/// access of a thread-local might allocate there.
pub(crate) fn begin() {
    if !sys::is_library() {
        sys::handle_fatal(report);
    }
}

/// Emits the signal, and waits for a sweep. The thread may have been interrupted anywhere: inside
/// the allocator, inside an emission, or in a pass. A lock that it holds itself is not waited for,
/// and all other waits have a limit.
fn report(fault: Fault) {
    // The first event of a thread may allocate, in the C library.
    if !state::is_running() || thread::number() == 0 {
        return;
    }
    if let Some(signal) = signal_of(fault.signal) {
        own::signaled(signal, fault.code, fault.address);
    }
    if !is_passing() {
        let sweep = ask_sweep();
        sys::wait(SWEEP_TIMEOUT, || is_swept(sweep) || !state::is_running());
    }
}

/// Returns the signal as the registry has it.
fn signal_of(number: core::ffi::c_int) -> Option<Signal> {
    Some(match number {
        libc::SIGSEGV => Signal::Segv,
        libc::SIGBUS => Signal::Bus,
        libc::SIGILL => Signal::Ill,
        libc::SIGFPE => Signal::Fpe,
        libc::SIGABRT => Signal::Abrt,
        libc::SIGTRAP => Signal::Trap,
        libc::SIGSYS => Signal::Sys,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_names() {
        for (number, expected) in [
            (libc::SIGSEGV, Some(Signal::Segv)),
            (libc::SIGBUS, Some(Signal::Bus)),
            (libc::SIGILL, Some(Signal::Ill)),
            (libc::SIGFPE, Some(Signal::Fpe)),
            (libc::SIGABRT, Some(Signal::Abrt)),
            (libc::SIGTRAP, Some(Signal::Trap)),
            (libc::SIGSYS, Some(Signal::Sys)),
            (libc::SIGTERM, None),
            (0, None),
        ] {
            assert_eq!(signal_of(number), expected, "{number}");
        }
    }
}
