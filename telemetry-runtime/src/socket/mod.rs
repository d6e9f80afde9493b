//! The control socket `/tmp/telemetry-<uid>/<pid>`, which the thread `telemetry-ctl` serves. A
//! request is one line of text. An answer is `ok` or `error: …`, and then TOML; `serve` has the
//! rules. Uses every room but `process`. `actions` calls their functions to do what a client asks.
//! It never delays the program. It serves one connection at a time, each with a deadline, and holds
//! no lock while it waits for a client.

mod actions;
mod link;
mod native;
mod place;
mod request;
mod seat;
mod serve;
mod usage;

#[cfg(test)]
mod tests;

use std::os::unix::net::UnixListener;
use std::time::Duration;

use telemetry_format::Notice;

use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::text::Shown;
use actions::{Actions, Process};
use place::{Place, VARIABLE};
use serve::Server;

/// True if the process is to have no socket.
static OFF: AtomicBool = AtomicBool::new(false);
static BEGUN: AtomicBool = AtomicBool::new(false);
/// True once the process ends: a socket that is made after that would outlive it.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Makes the socket and starts its thread, once. The drain's thread does it, so that the socket's
/// own thread takes next to no memory before a client asks. Allocation would give it an arena, and
/// deep calls a deep stack.
#[inline(never)]
pub(crate) fn begin() {
    if OFF.load(Ordering::Relaxed) || BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    let (place, listener) =
        match Place::of_process().and_then(|place| place.enter().map(|listener| (place, listener))) {
            Ok(both) => both,
            Err(why) => return report(format_args!("{why}")),
        };
    let is_served = native::spawn((listener, Server::new(Process, place)), serve);
    if !is_served {
        report(format_args!("the system has no thread for it"));
    }
    // The thread that ended the process meanwhile did not see the socket.
    if !is_served || ENDED.load(Ordering::SeqCst) {
        place::leave();
    }
}

/// Reads the settings of the program and the environment. Returns true if the socket is wanted
/// before anything is recorded. Reports an invalid value, unless this `is_child` of a process that
/// has reported it. Does not allocate.
// Here and not in the drain's thread, because a short process may end before that runs.
pub(crate) fn prepare(configured: Option<bool>, is_child: bool) -> bool {
    let set = crate::sys::with_env(VARIABLE, |set| match set.trim_ascii() {
        b"" => None,
        b"off" => Some(false),
        b"on" => Some(true),
        _ if set.contains(&b'/') => Some(true),
        text => {
            if !is_child {
                let text = Shown(text);
                report(format_args!("TELEMETRY_SOCKET is `{text}`, expected `on`, `off` or a path"));
            }
            Some(false)
        }
    });
    let wanted = set.flatten().or(configured);
    OFF.store(wanted == Some(false), Ordering::Relaxed);
    wanted == Some(true)
}

/// Makes a link to the process's ring file, unless this process has no socket. Does not allocate.
pub(crate) fn leave_link(ring: &core::ffi::CStr) {
    if !OFF.load(Ordering::Relaxed) {
        link::leave(ring);
    }
}

/// Removes that link.
pub(crate) fn remove_link() {
    link::remove();
}

/// Removes the socket, at the end of the process.
pub(crate) fn end() {
    ENDED.store(true, Ordering::SeqCst);
    place::leave();
}

/// Forgets the parent's socket, in the child of a fork. The child gets its own when it starts the
/// runtime. Takes no lock and does not allocate.
pub(crate) fn in_child() {
    native::forget();
    link::forget();
    ENDED.store(false, Ordering::Relaxed);
    BEGUN.store(false, Ordering::Relaxed);
}

/// The main function of the socket's thread.
fn serve((listener, server): &(UnixListener, Server<Process>)) {
    native::name_thread(c"telemetry-ctl");
    accept(listener, server);
}

fn accept(listener: &UnixListener, server: &Server<impl Actions>) -> ! {
    loop {
        match listener.accept() {
            Ok((stream, _)) => server.serve(stream),
            // The process may have no descriptors left, for example, and have some again later.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn report(why: core::fmt::Arguments<'_>) {
    crate::sys::report(
        Notice::SocketFailed,
        format_args!("no control socket: {why}; help: set TELEMETRY_SOCKET=off to do without it"),
    );
}
