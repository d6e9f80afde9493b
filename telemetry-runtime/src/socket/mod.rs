//! The way into a running process: a Unix socket at `/tmp/telemetry-<uid>/<pid>`, served by a thread of
//! its own, `telemetry-ctl`. Another copy of the runtime in the process, a shared library's, is at `<pid>-2`.
//!
//! A request is one line of text, an answer is `ok` or `error: …` and then TOML; [`serve`] has the rules.
//! One connection at a time, each with a deadline: a client that is slow holds up others for so long, and
//! the program never.

mod actions;
mod link;
mod native;
mod place;
mod request;
mod serve;

#[cfg(test)]
mod tests;

use std::os::unix::net::UnixListener;
use std::time::Duration;

use crate::sync::{AtomicBool, Ordering};
use actions::{Actions, Process};
use place::Place;
use serve::Server;

/// How whoever runs the program has its say: `on`, `off`, or a directory.
const VARIABLE: &core::ffi::CStr = c"TELEMETRY_SOCKET";

/// There shall be none.
static OFF: AtomicBool = AtomicBool::new(false);
static BEGUN: AtomicBool = AtomicBool::new(false);
/// The process ends, and a socket that is made now would outlive it.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Makes the socket, and starts its thread, once. The drain's thread does it, so that the socket's own takes next
/// to no memory until somebody asks: a thread that allocates has an arena, and deep calls leave a deep stack.
#[inline(never)]
pub(crate) fn begin() {
    if OFF.load(Ordering::Relaxed) || BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    let (place, listener) =
        match Place::of_process().and_then(|place| place.enter().map(|listener| (place, listener))) {
            Ok(both) => both,
            Err(why) => return complain(&why),
        };
    let is_served = native::spawn((listener, Server::new(Process, place)), serve);
    if !is_served {
        complain("the system has no thread for it");
    }
    // Who ended the process meanwhile did not see the socket.
    if !is_served || ENDED.load(Ordering::SeqCst) {
        place::leave();
    }
}

/// Takes what the program and whoever runs it say of the socket. True if it shall not wait until something is
/// recorded. Does not allocate.
pub(crate) fn prepare(configured: Option<bool>) -> bool {
    let set = crate::sys::with_env(VARIABLE, |set| match set.trim_ascii() {
        b"off" => Some(false),
        b"on" => Some(true),
        _ => set.contains(&b'/').then_some(true),
    });
    let wanted = set.flatten().or(configured);
    OFF.store(wanted == Some(false), Ordering::Relaxed);
    wanted == Some(true)
}

/// Leaves a link to the process's ring, unless there shall be nothing of this process. Does not allocate.
pub(crate) fn leave_link(ring: &core::ffi::CStr) {
    if !OFF.load(Ordering::Relaxed) {
        link::leave(ring);
    }
}

/// Takes that link away.
pub(crate) fn remove_link() {
    link::remove();
}

/// Takes the socket away. Called when the process ends.
pub(crate) fn end() {
    ENDED.store(true, Ordering::SeqCst);
    place::leave();
}

/// Forgets the parent's socket, in the child of a fork, which gets one of its own when it begins. Takes
/// no lock and does not allocate.
pub(crate) fn in_child() {
    native::forget();
    link::forget();
    ENDED.store(false, Ordering::Relaxed);
    BEGUN.store(false, Ordering::Relaxed);
}

/// The thread of the socket.
fn serve((listener, server): &(UnixListener, Server<Process>)) {
    native::name_thread(c"telemetry-ctl");
    accept(listener, server);
}

fn accept(listener: &UnixListener, server: &Server<impl Actions>) -> ! {
    loop {
        match listener.accept() {
            Ok((stream, _)) => server.serve(stream),
            // The process has no descriptors left, say: it may have some again later.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn complain(why: &str) {
    crate::sys::complain(format_args!(
        "no control socket: {why}; help: set TELEMETRY_SOCKET=off to do without it"
    ));
}
