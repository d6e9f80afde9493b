//! What the socket asks of the system beyond the standard library: who we and our peers are, and what a
//! forked child must forget.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::null_mut;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use crate::sync::{AtomicPtr, AtomicU32, Ordering};
use crate::sys;

/// The descriptor of the listener plus 1, or 0.
static LISTENER: AtomicU32 = AtomicU32::new(0);
/// The path of the socket, never freed, or null.
static PATH: AtomicPtr<PathBuf> = AtomicPtr::new(null_mut());

/// Remembers the listener for [`forget`]. It stays open as long as the process.
pub(crate) fn keep_listener(listener: &UnixListener) {
    LISTENER.store(listener.as_raw_fd().cast_unsigned() + 1, Ordering::Relaxed);
}

/// Remembers the path of the socket for [`path`] and [`take_path`].
pub(crate) fn keep_path(path: PathBuf) {
    PATH.store(Box::into_raw(Box::new(path)), Ordering::SeqCst);
}

/// The path of the socket.
pub(crate) fn path() -> Option<&'static Path> {
    // SAFETY: what `keep_path` stored is never freed.
    unsafe { PATH.load(Ordering::SeqCst).as_ref() }.map(PathBuf::as_path)
}

/// The path of the socket, once.
pub(crate) fn take_path() -> Option<&'static Path> {
    // SAFETY: what `keep_path` stored is never freed.
    let path = unsafe { PATH.swap(null_mut(), Ordering::SeqCst).as_ref() };
    path.map(PathBuf::as_path)
}

/// In a forked child: forgets the parent's path, and closes the listener. Nobody uses it there, since only
/// the thread that forked is in the child. Safe wherever a signal handler is.
pub(crate) fn forget() {
    PATH.store(null_mut(), Ordering::SeqCst);
    if let Some(listener) = LISTENER.swap(0, Ordering::Relaxed).checked_sub(1) {
        // SAFETY: the descriptor is the listener's, whose owner was the parent's thread: there is none here.
        unsafe { libc::close(listener.cast_signed()) };
    }
}

/// Starts a thread that does `main` with a value, both of which stay.
pub(crate) fn spawn<T: Send + Sync>(value: T, main: fn(&T)) -> bool {
    extern "C" fn enter<T>(what: *mut c_void) -> *mut c_void {
        // SAFETY: what is left here, below, which is of this type and never freed.
        let (value, main) = unsafe { &*what.cast::<(T, fn(&T))>() };
        main(value);
        null_mut()
    }
    sys::spawn(enter::<T>, Box::into_raw(Box::new((value, main))).cast())
}

/// The user that the process acts as.
pub(crate) fn user() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The user that whoever connected acted as.
pub(crate) fn peer(stream: &UnixStream) -> io::Result<u32> {
    let socket = stream.as_raw_fd();
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the pointers are to a value of our own and its length.
        let failed = unsafe {
            let at = (&raw mut credentials).cast();
            libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, at, &mut len)
        };
        if failed == 0 { Ok(credentials.uid) } else { Err(io::Error::last_os_error()) }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let (mut user, mut group) = (0, 0);
        // SAFETY: the pointers are to values of our own.
        let failed = unsafe { libc::getpeereid(socket, &mut user, &mut group) };
        if failed == 0 { Ok(user) } else { Err(io::Error::last_os_error()) }
    }
}

/// Names the calling thread, where the system has names for threads.
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
