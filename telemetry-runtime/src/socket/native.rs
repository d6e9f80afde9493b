//! What the socket needs from the system beyond the standard library. It learns the users of this
//! process and of its peers, and knows what a forked child must forget.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::null_mut;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
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

/// What a peer has sent.
pub(crate) enum Sent {
    Connection(UnixStream),
    /// A connection that this process has no descriptor for.
    Lost,
    /// A byte without a connection.
    Other,
    /// It has closed its end.
    End,
}

/// Waits for a connection that the peer sends. Takes one byte, and at most one descriptor.
pub(crate) fn receive(from: &UnixStream) -> io::Result<Sent> {
    let socket = from.as_raw_fd();
    let mut byte = [0_u8];
    // Of numbers, so that it is aligned as a header must be.
    let mut control = [0_u64; 4];
    // SAFETY: a zeroed message is valid. The pointers are to local values, which outlive the calls,
    // and have the given lengths.
    let message = unsafe {
        let mut message: libc::msghdr = core::mem::zeroed();
        loop {
            let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: byte.len() };
            (message.msg_iov, message.msg_iovlen) = (&mut part, 1);
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
            let mut ready = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
            libc::poll(&mut ready, 1, -1);
            match libc::recvmsg(socket, &mut message, libc::MSG_DONTWAIT | CLOSED_BY_EXEC) {
                0 => return Ok(Sent::End),
                1.. => break message,
                _ => {}
            }
            let error = io::Error::last_os_error();
            if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) {
                return Err(error);
            }
        }
    };
    // SAFETY: the system has filled the message. A header of this sort has descriptors behind it,
    // and there was space for one, which is now this process's.
    let received = unsafe {
        let header = libc::CMSG_FIRSTHDR(&message).as_ref();
        let has_descriptor = header.is_some_and(|header| {
            header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_RIGHTS
        });
        header
            .filter(|_| has_descriptor)
            .map(|header| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    };
    Ok(match received {
        Some(received) => {
            // SAFETY: the descriptor is open. Systems without a flag for it have this call.
            #[cfg(target_vendor = "apple")]
            unsafe {
                libc::fcntl(received.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC);
            }
            let connection = UnixStream::from(received);
            // The deadlines of a request need a connection that waits.
            let _ = connection.set_nonblocking(false);
            Sent::Connection(connection)
        }
        None if message.msg_flags & libc::MSG_CTRUNC != 0 => Sent::Lost,
        None => Sent::Other,
    })
}

/// The flag for descriptors that a new program does not get.
#[cfg(not(target_vendor = "apple"))]
const CLOSED_BY_EXEC: core::ffi::c_int = libc::MSG_CMSG_CLOEXEC;
#[cfg(target_vendor = "apple")]
const CLOSED_BY_EXEC: core::ffi::c_int = 0;

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
