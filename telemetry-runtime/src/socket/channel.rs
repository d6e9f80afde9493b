//! The peer of a sink's connection may ask what a client of the control socket may. For each
//! request it sends a connection, as one byte with a descriptor. The request and its answer are in
//! that connection, so the stream has none of them. It may be that of another process, which
//! [`Server`] asks the kernel about, as it does for any client.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::null_mut;
use std::sync::Arc;

use telemetry_format::Notice;

use super::actions::Process;
use super::native::{self, Sent};
use super::place::Place;
use super::serve::{Server, admit};
use crate::sinks::peer::{Shared, serve_with};
use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};

/// Lets the peers of sinks ask. Returns true if the system can. Does not allocate.
pub(crate) fn serve_peers() -> bool {
    serve_with(begin);
    true
}

/// Starts a thread that serves the peer of a connection, if it is of the same user, or of root.
fn begin(peer: &Arc<Shared>) {
    let user = native::peer(&peer.stream).map_err(|error| format!("cannot tell who it is: {error}"));
    if let Err(why) = user.and_then(admit) {
        return report(&why);
    }
    let shared = Box::into_raw(Box::new(peer.clone()));
    if !sys::spawn(main, shared.cast()) {
        // SAFETY: no thread has taken it.
        drop(unsafe { Box::from_raw(shared) });
        report("the system has no thread for it");
    }
}

extern "C" fn main(peer: *mut c_void) -> *mut c_void {
    // SAFETY: `begin` passes a box of this type, and does not use it again.
    let peer = unsafe { Box::from_raw(peer.cast::<Arc<Shared>>()) };
    native::name_thread(c"telemetry-peer");
    serve(&peer);
    null_mut()
}

/// Answers requests until the connection ends, or something else than a connection comes. What
/// follows stays in the system's buffer, which is limited.
fn serve(peer: &Shared) {
    let server = Server::new(Process, Place::of_process().or_else(|_| Place::by_default()));
    loop {
        match native::receive(&peer.stream) {
            Ok(Sent::Connection(client)) => server.serve(client),
            // The client sees that its connection is closed.
            Ok(Sent::Lost) => {}
            Ok(Sent::Other) => return report("it sent a byte without a connection, expected both"),
            Ok(Sent::End) | Err(_) => return peer.end(),
        }
    }
}

/// Reports the first problem of this process. The sink goes on.
fn report(why: &str) {
    static IS_REPORTED: AtomicBool = AtomicBool::new(false);
    if !IS_REPORTED.swap(true, Ordering::Relaxed) {
        sys::report(Notice::SocketFailed, format_args!("the peer of a sink cannot ask: {why}"));
    }
}
