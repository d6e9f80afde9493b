//! System calls on processes that the standard library does not have.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output was closed when the process began. Before `main`, the standard library
/// puts `/dev/null` in its place, which would take all output without an error.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called before the standard library begins.
extern "C" fn look_at_stdout() {
    // SAFETY: asks for the flags of a descriptor, which fails if it is closed.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// The entry in the list of functions that the system calls before `main`.
// SAFETY: both sections are lists of such functions, and this one needs nothing of the standard
// library but an atomic.
#[used]
#[cfg_attr(any(target_os = "linux", target_os = "android"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOOK_AT_STDOUT: extern "C" fn() = look_at_stdout;

/// Returns true if standard output was closed when the process began.
pub(crate) fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// The process at the other end of a connection.
pub(crate) struct Peer {
    pub(crate) user: u32,
    /// Not every system reports it.
    pub(crate) pid: Option<u32>,
}

/// Returns the effective user of this command.
pub(crate) fn user() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// Makes a Unix socket to which only this user may ever connect.
pub(crate) fn bind_own(path: &Path) -> io::Result<UnixListener> {
    // SAFETY: takes a number and cannot fail. Files that other threads make meanwhile are for our
    // own user alone.
    let before = unsafe { libc::umask(0o177) };
    let bound = UnixListener::bind(path);
    // SAFETY: as above.
    unsafe { libc::umask(before) };
    bound
}

/// Fails if the process does not exist or belongs to another user.
pub(crate) fn exists(pid: u32) -> io::Result<()> {
    let not_found = || io::Error::from_raw_os_error(libc::ESRCH);
    // Zero and negative numbers mean groups of processes.
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0).ok_or_else(not_found)?;
    // SAFETY: signal 0 sends nothing.
    if unsafe { libc::kill(pid, 0) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Asks a child process to end.
pub(crate) fn terminate(child: u32) {
    if let Ok(pid) = i32::try_from(child) {
        // SAFETY: sends a signal to a child that was not waited for, so the number is still its
        // own.
        unsafe { libc::kill(pid, libc::SIGTERM) };
    }
}

/// Returns true if this process ignores a signal, as its parent arranged.
pub(crate) fn ignores(signal: i32) -> bool {
    // SAFETY: a zeroed action is valid, the call overwrites it, and nothing is set.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        libc::sigaction(signal, core::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Ends this process by a signal that ends processes. Returns if the system does not allow it.
pub(crate) fn die_of(signal: i32) {
    // SAFETY: the signal has its default action from here on, so no code of ours is called.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Returns the process that made the listening socket of a stream.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    option(stream, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut credentials)?;
    Ok(Peer { user: credentials.uid, pid: u32::try_from(credentials.pid).ok() })
}

/// Returns the process that made the listening socket of a stream.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let (mut user, mut group) = (0, 0);
    // SAFETY: the pointers are to our own values.
    if unsafe { libc::getpeereid(stream.as_raw_fd(), &mut user, &mut group) } != 0 {
        return Err(io::Error::last_os_error());
    }
    #[cfg(target_vendor = "apple")]
    let pid = {
        let mut pid: libc::pid_t = 0;
        option(stream, libc::SOL_LOCAL, libc::LOCAL_PEERPID, &mut pid)?;
        u32::try_from(pid).ok()
    };
    #[cfg(not(target_vendor = "apple"))]
    let pid = None;
    Ok(Peer { user, pid })
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn option<T: Copy>(stream: &UnixStream, level: i32, name: i32, value: &mut T) -> io::Result<()> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointers are to a value of the caller and to its length, and the values of these
    // options are plain numbers.
    let failed = unsafe {
        libc::getsockopt(stream.as_raw_fd(), level, name, core::ptr::from_mut(value).cast(), &mut len)
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Waits for a client of a listener, or until another connection has ended. Returns true for a
/// client.
pub(crate) fn wait_for_client(of: &UnixListener, or_end_of: &UnixStream) -> io::Result<bool> {
    // The end of a connection is always reported.
    let fds = [(of.as_raw_fd(), libc::POLLIN), (or_end_of.as_raw_fd(), 0)];
    let mut all = fds.map(|(fd, events)| libc::pollfd { fd, events, revents: 0 });
    loop {
        // SAFETY: the array is our own, and its length is right.
        if unsafe { libc::poll(all.as_mut_ptr(), 2, -1) } >= 0 {
            let [client, end] = all.map(|one| one.revents != 0);
            return Ok(client && !end);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Sends a connection to the process at the other end of another one, as one byte with a
/// descriptor. Does not wait for it.
pub(crate) fn send_connection(to: &UnixStream, connection: &UnixStream) -> io::Result<()> {
    let mut byte = [0_u8];
    // Of numbers, so that it is aligned as a header must be.
    let mut control = [0_u64; 4];
    let sent = connection.as_raw_fd();
    #[cfg(not(target_vendor = "apple"))]
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    #[cfg(target_vendor = "apple")]
    let flags = libc::MSG_DONTWAIT;
    // SAFETY: a zeroed message is valid. The pointers are to local values, which outlive the call,
    // and have space for a header with one descriptor.
    let failed = unsafe {
        let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: byte.len() };
        let mut message: libc::msghdr = core::mem::zeroed();
        (message.msg_iov, message.msg_iovlen) = (&mut part, 1);
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of_val(&sent) as u32) as _;
        if let Some(header) = libc::CMSG_FIRSTHDR(&message).as_mut() {
            (header.cmsg_level, header.cmsg_type) = (libc::SOL_SOCKET, libc::SCM_RIGHTS);
            header.cmsg_len = libc::CMSG_LEN(size_of_val(&sent) as u32) as _;
            libc::CMSG_DATA(header).cast::<i32>().write_unaligned(sent);
        }
        libc::sendmsg(to.as_raw_fd(), &message, flags) < 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The modes of a terminal.
#[derive(Clone, Copy)]
pub(super) struct Modes(libc::termios);

impl Modes {
    /// Returns the modes of a terminal.
    pub(super) fn of(terminal: &impl AsRawFd) -> io::Result<Modes> {
        // SAFETY: a zeroed structure is valid, and the call fills it.
        unsafe {
            let mut modes: libc::termios = core::mem::zeroed();
            match libc::tcgetattr(terminal.as_raw_fd(), &mut modes) {
                0 => Ok(Modes(modes)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Sets these modes.
    pub(super) fn set(&self, terminal: &impl AsRawFd) -> io::Result<()> {
        // SAFETY: the pointer is to our own value.
        match unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &self.0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the modes in which each key is read at once and not shown. Keys still make signals,
    /// but none stops output.
    pub(super) fn by_key(mut self) -> Modes {
        self.0.c_lflag &= !(libc::ICANON | libc::ECHO);
        self.0.c_iflag &= !libc::IXON;
        self.0.c_cc[libc::VMIN] = 1;
        self.0.c_cc[libc::VTIME] = 0;
        self
    }
}

/// Returns the numbers of columns and rows of a terminal.
pub(super) fn size(terminal: &impl AsRawFd) -> Option<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call fills our own structure.
    let failed = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &mut size) };
    (failed == 0 && size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// Opens a terminal once more, for writing without waiting. Programs that share the terminal still
/// wait.
pub(super) fn without_waiting(terminal: &impl AsRawFd) -> io::Result<File> {
    let mut name = [0; 128];
    // SAFETY: the buffer is our own, and its length is right.
    let failed = unsafe { libc::ttyname_r(terminal.as_raw_fd(), name.as_mut_ptr().cast(), name.len()) };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed));
    }
    let name = CStr::from_bytes_until_nul(&name).map_err(io::Error::other)?;
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    File::options().write(true).custom_flags(flags).open(OsStr::from_bytes(name.to_bytes()))
}

/// Waits until a terminal takes output. Returns false if the time is over before.
pub(super) fn wait_for_room(terminal: &impl AsRawFd, most: std::time::Duration) -> io::Result<bool> {
    let [_, _, has_room] = wait_for([&-1, &-1], Some(terminal), most)?;
    Ok(has_room)
}

/// Discards output that a terminal has not shown yet.
pub(super) fn discard_output(terminal: &impl AsRawFd) {
    // SAFETY: changes nothing of this process. A terminal that is gone has no output.
    unsafe { libc::tcflush(terminal.as_raw_fd(), libc::TCOFLUSH) };
}

/// Waits until one of two descriptors can be read, a third one can be written, or the time is over.
pub(super) fn wait_for(
    to_read: [&dyn AsRawFd; 2],
    to_write: Option<&dyn AsRawFd>,
    most: std::time::Duration,
) -> io::Result<[bool; 3]> {
    let of = |fd, events| libc::pollfd { fd, events, revents: 0 };
    let [a, b] = to_read.map(|of| of.as_raw_fd());
    // The system ignores negative numbers.
    let to_write = to_write.map_or(-1, |of| of.as_raw_fd());
    let mut all = [of(a, libc::POLLIN), of(b, libc::POLLIN), of(to_write, libc::POLLOUT)];
    let most = i32::try_from(most.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the array is our own, and its length is right.
    if unsafe { libc::poll(all.as_mut_ptr(), 3, most) } < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok([false; 3]) } else { Err(error) };
    }
    Ok(all.map(|one| one.revents != 0))
}

/// Stops this process until it is continued.
pub(super) fn stop_self() {
    // SAFETY: sends a signal to this process.
    unsafe { libc::raise(libc::SIGSTOP) };
}
