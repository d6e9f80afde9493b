//! The thread of the socket in a program that nothing has prepared.
//!
//! The first emitter starts it, whether its event is on or off. It waits before it makes the
//! socket, so a short process touches no file. If the drain's thread starts meanwhile, that makes
//! the socket: its stack and heap are larger already. The waiting thread then serves it.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::null_mut;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use super::actions::Process;
use super::native::name_thread;
use super::serve::Server;
use crate::sys;
use crate::sys::atomic::{AtomicPtr, AtomicU32, Ordering};

/// A socket, and what answers there.
pub(super) type Service = (UnixListener, Server<Process>);

/// How long a process runs before it has a socket.
const DELAY: Duration = Duration::from_millis(10);

/// No thread has begun to make a socket.
const NONE: u32 = 0;
/// The thread is being started.
const STARTS: u32 = 1;
/// The thread waits.
const WAITS: u32 = 2;
/// A thread makes the socket.
const MAKES: u32 = 3;
/// There is a socket.
const MADE: u32 = 4;
/// There is none, and no thread waits for it.
const FAILED: u32 = 5;

static STATE: AtomicU32 = AtomicU32::new(NONE);
/// The socket for the waiting thread, never freed.
static SERVICE: AtomicPtr<Service> = AtomicPtr::new(null_mut());

/// The right to make the socket.
pub(super) struct Turn {
    /// True if a thread waits to serve it.
    pub(super) is_awaited: bool,
}

/// Takes the right to make the socket, unless there is one or another thread makes it. After a
/// failure, a thread may try again.
pub(super) fn take_turn() -> Option<Turn> {
    [(NONE, false), (WAITS, true), (FAILED, false)].into_iter().find_map(|(before, is_awaited)| {
        let taken = STATE.compare_exchange(before, MAKES, Ordering::AcqRel, Ordering::Acquire);
        taken.ok().map(|_| Turn { is_awaited })
    })
}

impl Turn {
    /// Gives the socket to the thread that waits for it.
    pub(super) fn hand_over(self, service: Service) {
        SERVICE.store(Box::into_raw(Box::new(service)), Ordering::Release);
        end(MADE);
    }

    /// Records whether there is a socket now.
    pub(super) fn end(self, is_made: bool) {
        end(if is_made { MADE } else { FAILED });
    }
}

fn end(state: u32) {
    STATE.store(state, Ordering::Release);
    sys::wake_at(&STATE);
}

/// Returns true if no thread makes or has made a socket.
pub(super) fn is_none() -> bool {
    STATE.load(Ordering::Acquire) == NONE
}

/// Starts the thread. `make` makes the socket, and `serve` serves it.
pub(super) fn begin(parts: &'static Parts) {
    if STATE.compare_exchange(NONE, STARTS, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    let is_started = sys::spawn(main, core::ptr::from_ref(parts).cast_mut().cast());
    end(if is_started { WAITS } else { FAILED });
}

/// The functions of the thread, which are in a file that uses this one.
pub(super) struct Parts {
    /// Makes the socket, if that is possible.
    pub(super) make: fn() -> Option<Service>,
    pub(super) serve: fn(&Service),
}

extern "C" fn main(parts: *mut c_void) -> *mut c_void {
    // SAFETY: `begin` passes a static reference of this type.
    let parts = unsafe { &*parts.cast::<Parts>() };
    name_thread(c"telemetry-ctl");
    let end_of_delay = Instant::now() + DELAY;
    loop {
        let rest = end_of_delay.saturating_duration_since(Instant::now());
        match STATE.load(Ordering::Acquire) {
            STARTS => sys::pause(),
            WAITS if !rest.is_zero() => sys::sleep_at(&STATE, WAITS, rest),
            _ => break,
        }
    }
    if STATE.compare_exchange(WAITS, MAKES, Ordering::AcqRel, Ordering::Acquire).is_ok() {
        let made = (parts.make)();
        end(if made.is_some() { MADE } else { FAILED });
        if let Some(service) = made {
            (parts.serve)(&service);
        }
        return null_mut();
    }
    while STATE.load(Ordering::Acquire) == MAKES {
        sys::sleep_at(&STATE, MAKES, Duration::from_secs(60));
    }
    // SAFETY: a service that was stored is never freed.
    if let Some(service) = unsafe { SERVICE.load(Ordering::Acquire).as_ref() } {
        (parts.serve)(service);
    }
    null_mut()
}

/// Forgets the thread and the socket, in the child of a fork.
pub(super) fn forget() {
    SERVICE.store(null_mut(), Ordering::Relaxed);
    STATE.store(NONE, Ordering::Release);
}
