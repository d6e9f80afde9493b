//! What the socket needs from the system beyond the standard library. It learns the users of this
//! process and of its peers, and knows what a forked child must forget.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::null_mut;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::sync::spin::Spin;
use crate::sys;
use crate::sys::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The descriptor of the listener plus 1, or 0.
static LISTENER: AtomicU32 = AtomicU32::new(0);
/// The path of the socket, never freed, or null.
static PATH: AtomicPtr<Kept> = AtomicPtr::new(null_mut());

/// The latest path that was ever in use. It leads to those before it. Tools that look for leaks
/// would otherwise report a path that was taken to the users of programs in C.
static LATEST: AtomicPtr<Kept> = AtomicPtr::new(null_mut());

/// A path that is never freed.
struct Kept {
    path: PathBuf,
    _before: *mut Kept,
}

/// The lock of a thread that makes the listener. A fork waits for it, since its child would have a
/// listener open that it does not know.
pub(crate) static LISTENING: Spin = Spin::new();

/// Stores the listener for [`forget`]. It stays open as long as the process.
pub(crate) fn keep_listener(listener: &UnixListener) {
    LISTENER.store(listener.as_raw_fd().cast_unsigned() + 1, Ordering::Relaxed);
}

/// Stores the path of the socket for [`path`] and [`take_path`].
pub(crate) fn keep_path(path: PathBuf) {
    let kept = Box::into_raw(Box::new(Kept { path, _before: LATEST.load(Ordering::Relaxed) }));
    LATEST.store(kept, Ordering::Relaxed);
    PATH.store(kept, Ordering::SeqCst);
}

/// Returns the path of the socket.
pub(crate) fn path() -> Option<&'static Path> {
    // SAFETY: the path that `keep_path` stored is never freed.
    unsafe { PATH.load(Ordering::SeqCst).as_ref() }.map(|kept| kept.path.as_path())
}

/// Returns the path of the socket the first time, and then `None`.
pub(crate) fn take_path() -> Option<&'static Path> {
    // SAFETY: the path that `keep_path` stored is never freed.
    let path = unsafe { PATH.swap(null_mut(), Ordering::SeqCst).as_ref() };
    path.map(|kept| kept.path.as_path())
}

/// Forgets the parent's path and closes the listener, in a forked child. No thread uses it there,
/// since the child has only the thread that forked. Async-signal-safe.
pub(crate) fn forget() {
    LISTENING.reset();
    PATH.store(null_mut(), Ordering::SeqCst);
    if let Some(listener) = LISTENER.swap(0, Ordering::Relaxed).checked_sub(1) {
        // SAFETY: the descriptor belongs to the listener, whose owner was a thread of the parent.
        unsafe { libc::close(listener.cast_signed()) };
    }
}

/// Starts a thread that calls `main` with a value. Neither is ever freed.
pub(crate) fn spawn<T: Send + Sync>(value: T, main: fn(&T)) -> bool {
    extern "C" fn enter<T>(what: *mut c_void) -> *mut c_void {
        // SAFETY: the pointer is to the value that is boxed below, which has this type and is never
        // freed.
        let (value, main) = unsafe { &*what.cast::<(T, fn(&T))>() };
        main(value);
        null_mut()
    }
    sys::spawn(enter::<T>, Box::into_raw(Box::new((value, main))).cast())
}

/// Returns the effective user of the process that connected.
pub(crate) fn peer(stream: &UnixStream) -> io::Result<u32> {
    let socket = stream.as_raw_fd();
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the pointers are to a local value and its length.
        let failed = unsafe {
            let at = (&raw mut credentials).cast();
            libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, at, &mut len)
        };
        if failed == 0 { Ok(credentials.uid) } else { Err(io::Error::last_os_error()) }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let (mut user, mut group) = (0, 0);
        // SAFETY: the pointers are to local values.
        let failed = unsafe { libc::getpeereid(socket, &mut user, &mut group) };
        if failed == 0 { Ok(user) } else { Err(io::Error::last_os_error()) }
    }
}

/// Names the calling thread, if the system has names for threads.
pub(crate) fn name_thread(name: &core::ffi::CStr) {
    // SAFETY: the name ends in NUL and is within Linux's limit of 16 bytes.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    unsafe {
        libc::pthread_setname_np(libc::pthread_self(), name.as_ptr());
    }
    // SAFETY: as above.
    #[cfg(target_os = "macos")]
    unsafe {
        libc::pthread_setname_np(name.as_ptr());
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
    let _ = name;
}
