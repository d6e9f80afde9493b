//! The control socket `/tmp/telemetry-<uid>/<pid>`, which the thread `telemetry-ctl` serves. A
//! request is one line of text. An answer is `ok` or `error: …`, and then TOML; `serve` has the
//! rules. Uses every room but `process`. `actions` calls their functions to do what a client asks.
//! It never delays the program. It serves one connection at a time, each with a deadline, and holds
//! no lock while it waits for a client.

mod actions;
mod channel;
mod link;
mod native;
mod place;
mod request;
mod seat;
mod serve;
mod usage;
mod waiting;

#[cfg(test)]
mod tests;

use std::os::unix::net::UnixListener;
use std::time::Duration;

use telemetry_format::Notice;

use crate::sync::spin::SpinGuard;
use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::text::Shown;
use actions::{Actions, Process};
pub(crate) use channel::serve_peers;
use place::{Place, VARIABLE};
use serve::Server;
use waiting::Service;

/// True if the process is to have no socket.
static OFF: AtomicBool = AtomicBool::new(false);
/// True if the process is to have a socket though neither program nor user asked for one.
static UNASKED: AtomicBool = AtomicBool::new(false);
/// True once the process ends: a socket that is made after that would outlive it.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Makes the socket and starts its thread, unless another thread has. The drain's thread does it,
/// so that the socket's own thread takes next to no memory before a client asks. Allocation would
/// give it an arena, and deep calls a deep stack.
#[inline(never)]
pub(crate) fn begin() {
    if OFF.load(Ordering::Relaxed) {
        return;
    }
    let Some(turn) = waiting::take_turn() else { return };
    let service = match Place::of_process().and_then(made) {
        Ok(service) => service,
        Err(why) => {
            turn.end(false);
            return report(format_args!("{why}"));
        }
    };
    let is_served = if turn.is_awaited {
        turn.hand_over(service);
        true
    } else {
        let is_served = native::spawn(service, serve);
        turn.end(is_served);
        is_served
    };
    if !is_served {
        report(format_args!("the system has no thread for it"));
    }
    // The thread that ended the process meanwhile did not see the socket.
    if !is_served || ENDED.load(Ordering::SeqCst) {
        place::leave();
    }
}

/// Returns true if the process is to have a socket that was not asked for, and has none.
pub(crate) fn is_missing() -> bool {
    UNASKED.load(Ordering::Relaxed) && waiting::is_none()
}

/// Starts a thread that soon makes the socket. Does not allocate.
pub(crate) fn begin_soon() {
    static PARTS: waiting::Parts = waiting::Parts { make: make_unasked, serve };
    waiting::begin(&PARTS);
}

/// Makes a socket that was not asked for. Is silent about a failure. If the process records
/// something, the drain's thread tries again and reports it.
#[inline(never)]
fn make_unasked() -> Option<Service> {
    let service = Place::by_default().and_then(made).ok()?;
    if ENDED.load(Ordering::SeqCst) {
        place::leave();
        return None;
    }
    Some(service)
}

fn made(place: Place) -> Result<Service, String> {
    let listener = place.enter()?;
    Ok((listener, Server::new(Process, Ok(place))))
}

/// Reads the settings of the program and the environment. Returns true if the socket is wanted
/// before anything is recorded. Reports an invalid value, unless this `is_child` of a process that
/// has reported it. Does not allocate.
// Here and not in the drain's thread, because a short process may end before that runs.
pub(crate) fn prepare(configured: Option<bool>, is_child: bool) -> bool {
    let set = sys::with_env(VARIABLE, |set| match set.trim_ascii() {
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
    // A thread is started where any event may be, even one that is off. It must be safe there. A
    // thread allocates with an allocator that may be in the middle of this event. It keeps a
    // library loaded, which takes the loader's lock.
    let is_safe = !sys::is_privileged() && !sys::is_library() && !sys::has_other_malloc();
    let is_built_in = cfg!(not(telemetry_attach = "off"));
    UNASKED.store(wanted.is_none() && is_built_in && is_safe, Ordering::Relaxed);
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
    waiting::forget();
}

/// Keeps threads from making a listener, before a fork. The child would have it open.
pub(crate) fn hold() -> Option<SpinGuard<'static>> {
    native::LISTENING.lock(sys::me()).ok()
}

/// The main function of the socket's thread.
fn serve((listener, server): &Service) {
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
    sys::report(
        Notice::SocketFailed,
        format_args!("no control socket: {why}; help: set TELEMETRY_SOCKET=off to do without it"),
    );
}
