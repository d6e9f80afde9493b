//! The link to the ring file: `<pid>.ring` beside the socket, for whoever looks for what a dead process has left.
//!
//! Not made with the socket, by the drain's thread, but where the ring is: a process may not live until the drain
//! runs.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::fmt::Write;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;

use super::place::{self, MOST_COPIES, Name};
use crate::sync::{AtomicBool, Ordering};
use crate::sys;
use crate::text::{Buffer, Shown};

/// Room for the path of the link.
const MOST: usize = 1100;

/// Where the link is. Written once, before `IS_LEFT` is set.
struct LinkPath(UnsafeCell<Buffer<MOST>>);

// SAFETY: `leave`, which one thread calls at the start, writes the path before it sets `IS_LEFT`.
unsafe impl Sync for LinkPath {}

static PATH: LinkPath = LinkPath(UnsafeCell::new(Buffer::new()));
static IS_LEFT: AtomicBool = AtomicBool::new(false);

/// Leaves a link to a ring. Does not allocate.
// Apart: paths take much of a stack.
#[inline(never)]
pub(crate) fn leave(ring: &CStr) {
    let mut dir = Buffer::new();
    let Some(dir) = place::dir(&mut dir) else { return };
    // What is wrong with it is said where the socket is made. A path that is none from the root on was too long.
    if !matches!(place::make(dir), Ok(None)) || !ring.to_bytes().starts_with(b"/") {
        return;
    }
    let pid = std::process::id();
    for copy in 1..=MOST_COPIES {
        let mut path = Buffer::<MOST>::new();
        let written = path.push(dir.as_os_str().as_bytes());
        if written.and_then(|()| write!(path, "/{}.ring\0", Name { pid, copy })).is_err() {
            return;
        }
        let Ok(link) = CStr::from_bytes_with_nul(path.as_bytes()) else { return };
        match make(ring, link) {
            Ok(false) => {}
            Ok(true) => {
                // SAFETY: see `LinkPath`.
                unsafe { *PATH.0.get() = path };
                IS_LEFT.store(true, Ordering::Release);
                return;
            }
            Err(error) => {
                sys::complain(format_args!(
                    "cannot make `{}`: {error}; `telemetry list` will not find the ring",
                    Shown(link.to_bytes())
                ));
                return;
            }
        }
    }
}

/// Makes the link. False if one of its name leads to another ring of a process of this number: that of another copy of
/// the runtime in this one, or what an earlier one has left.
fn make(ring: &CStr, link: &CStr) -> io::Result<bool> {
    for _ in 0..2 {
        // SAFETY: both paths end in NUL.
        if unsafe { libc::symlink(ring.as_ptr(), link.as_ptr()) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::AlreadyExists {
            return Err(error);
        }
        let mut text = [0_u8; 1100];
        // SAFETY: the path ends in NUL, and the buffer is a byte longer than the given length, so that NUL is behind
        // what is read.
        let read = unsafe { libc::readlink(link.as_ptr(), text.as_mut_ptr().cast(), text.len() - 1) };
        let Ok(found) = CStr::from_bytes_until_nul(&text) else { return Ok(false) };
        if read < 0 {
            return Ok(false);
        }
        if found == ring {
            return Ok(true);
        }
        if sys::ring_at(found).is_some_and(|head| head.pid == std::process::id()) {
            return Ok(false);
        }
        // It leads to nothing of this number.
        // SAFETY: the path ends in NUL.
        unsafe { libc::unlink(link.as_ptr()) };
    }
    Ok(false)
}

/// Takes the link away.
pub(crate) fn remove() {
    if IS_LEFT.swap(false, Ordering::Acquire) {
        // SAFETY: see `LinkPath`; the path ends in NUL.
        unsafe { libc::unlink((*PATH.0.get()).as_bytes().as_ptr().cast()) };
    }
}

/// In a forked child: the link is the parent's. Safe wherever a signal handler is.
pub(crate) fn forget() {
    IS_LEFT.store(false, Ordering::Relaxed);
}
