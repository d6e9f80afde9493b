//! The link to the ring file: `<pid>.ring` beside the socket. Tools use it to find what a dead
//! process left.
//!
//! It is made with the ring file, and not with the socket by the drain's thread. The process may
//! end before that thread runs.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::fmt::Write;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;

use super::place::{self, MAX_COPIES, Name};
use telemetry_format::Notice;

use crate::sys;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::text::{Buffer, Shown};

/// Room for the path of the link.
const MAX_LINK_LEN: usize = 1100;

/// The path of the link. Written once, before `IS_LEFT` is set.
struct LinkPath(UnsafeCell<Buffer<MAX_LINK_LEN>>);

// SAFETY: one thread calls `leave`, at the start, and writes the path before it sets `IS_LEFT`.
unsafe impl Sync for LinkPath {}

static PATH: LinkPath = LinkPath(UnsafeCell::new(Buffer::new()));
static IS_LEFT: AtomicBool = AtomicBool::new(false);

/// Makes a link to a ring file. Does not allocate.
// A function of its own, because paths take much of a stack.
#[inline(never)]
pub(crate) fn leave(ring: &CStr) {
    let mut dir = Buffer::new();
    let Some(dir) = place::dir(&mut dir) else { return };
    // The code that makes the socket reports a bad directory. A relative path was too long to be
    // made absolute.
    if !matches!(place::make(dir), Ok(None)) || !ring.to_bytes().starts_with(b"/") {
        return;
    }
    let pid = std::process::id();
    for copy in 1..=MAX_COPIES {
        let mut path = Buffer::<MAX_LINK_LEN>::new();
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
                let (tag, link) = (sys::with_errno(Notice::RingUnlisted, &error), Shown(link.to_bytes()));
                sys::report(
                    tag,
                    format_args!("cannot make `{link}`: {error}; `telemetry list` will not find the ring"),
                );
                return;
            }
        }
    }
}

/// Makes the link. Returns false if the name is that of a link to another ring file of this process
/// number. Another copy of the runtime in this process has made that link, or an earlier process.
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
        // SAFETY: the path ends in NUL. The buffer is one byte longer than the given length, so
        // that NUL follows what is read.
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
        // It does not lead to a ring file of this process number.
        // SAFETY: the path ends in NUL.
        unsafe { libc::unlink(link.as_ptr()) };
    }
    Ok(false)
}

/// Removes the link.
pub(crate) fn remove() {
    if IS_LEFT.swap(false, Ordering::Acquire) {
        // SAFETY: see `LinkPath`; the path ends in NUL.
        unsafe { libc::unlink((*PATH.0.get()).as_bytes().as_ptr().cast()) };
    }
}

/// Leaves the link to the parent, in a forked child. Async-signal-safe.
pub(crate) fn forget() {
    IS_LEFT.store(false, Ordering::Relaxed);
}
