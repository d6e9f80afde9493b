//! The path of a ring file: what is there, who owns and uses it, and how it makes way.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::fmt::Write;
use core::time::Duration;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use telemetry_format::{RING_OLD, RingHead};

use crate::sys::file_lock::lock_file;
use crate::sys::machine;
use crate::sys::no_ring::NoRing;
use crate::sys::text::Buffer;

/// The mode of the file. The process that created it has it open for writing already.
const MODE: u32 = 0o400;

/// What a file is.
enum Ring {
    Empty,
    Whose(RingHead),
    Other,
    /// A file of another user.
    Theirs(u32),
}

fn found(file: &File) -> io::Result<Ring> {
    let metadata = file.metadata()?;
    if metadata.uid() != machine::user() {
        return Ok(Ring::Theirs(metadata.uid()));
    }
    if !metadata.is_file() {
        return Ok(Ring::Other);
    }
    let mut head = [0; RingHead::LEN];
    let read = file.read_at(&mut head, 0)?;
    Ok(match RingHead::decode(&head[..read], crc32c::crc32c) {
        Some(head) => Ring::Whose(head),
        None if metadata.len() == 0 => Ring::Empty,
        None => Ring::Other,
    })
}

/// Creates a file that only its owner may read. Its owner must change the mode to open it for
/// writing: a process that has the file mapped would end if the file were shortened.
pub(super) fn create(path: &CStr) -> io::Result<File> {
    let file = open(path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?;
    // Sets the mode whatever the umask and the access list of the directory say.
    // SAFETY: the descriptor is open.
    unsafe { libc::fchmod(file.as_raw_fd(), MODE as libc::mode_t) };
    Ok(file)
}

/// Refuses a new file that other users may open. Some file systems store no modes.
pub(super) fn expect_private(file: &File) -> Result<(), NoRing> {
    let metadata = file.metadata()?;
    if metadata.mode() & 0o077 != 0 || metadata.nlink() > 1 {
        return Err(NoRing::Open);
    }
    Ok(())
}

/// Removes the file at the path, or moves it aside. The file must be this user's, and no process
/// may use it.
pub(super) fn make_way(path: &CStr) -> Result<(), NoRing> {
    let file = match open(path, libc::O_RDONLY) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(explained(error, path)),
    };
    expect_ring(&file)?;
    lock(&file)?;
    // The process that had the lock before may have moved or removed the file.
    if !is_at(&file, path) {
        return Ok(());
    }
    // That process may also have written to the file.
    if expect_ring(&file)? {
        return set_aside(path);
    }
    // SAFETY: the path ends in NUL.
    match unsafe { libc::unlink(path.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().into()),
    }
}

/// Returns true for a ring file and false for an empty file. Refuses any other file, and files of
/// other users.
fn expect_ring(file: &File) -> Result<bool, NoRing> {
    match found(file)? {
        Ring::Whose(_) => Ok(true),
        Ring::Empty => Ok(false),
        Ring::Other => Err(NoRing::Foreign),
        Ring::Theirs(user) => Err(NoRing::Theirs(user, machine::user())),
    }
}

/// Returns why the file at the path cannot be opened.
fn explained(error: io::Error, path: &CStr) -> NoRing {
    match there(path) {
        Some(there) if there.st_mode & libc::S_IFMT == libc::S_IFLNK => NoRing::Link,
        Some(there) if there.st_uid != machine::user() => NoRing::Theirs(there.st_uid, machine::user()),
        // A socket, for example.
        Some(there) if there.st_mode & libc::S_IFMT != libc::S_IFREG => NoRing::Foreign,
        _ => error.into(),
    }
}

/// Opens a file of any type. Does not allocate, whereas the standard library does for a long path.
fn open(path: &CStr, flags: libc::c_int) -> io::Result<File> {
    let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: the path ends in NUL, and nothing else uses the descriptor.
    unsafe {
        match libc::open(path.as_ptr(), flags, 0o600 as libc::c_uint) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(File::from_raw_fd(fd)),
        }
    }
}

/// Opens the file of a descriptor a second time, on systems that can do so. A mapping keeps its
/// file open, and thereby locked: a child's mapping must not keep the lock of its parent.
pub(super) fn reopened(fd: libc::c_int) -> Option<File> {
    let mut path = Buffer::<32>::new();
    write!(path, "/proc/self/fd/{fd}\0").ok()?;
    // SAFETY: the path ends in NUL, and only this code uses the new descriptor.
    unsafe {
        let fd = libc::open(path.as_bytes().as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        (fd >= 0).then(|| File::from_raw_fd(fd))
    }
}

/// Locks a file for this process. Waits a moment, since a process that only examines the file soon
/// unlocks it.
pub(super) fn lock(file: &File) -> Result<(), NoRing> {
    match lock_file(file, Duration::from_millis(2)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(NoRing::Busy),
        // Network file systems lock only files that are open for writing. A process may be using
        // this one.
        Err(error) if error.raw_os_error() == Some(libc::EBADF) => Err(NoRing::Busy),
        Err(error) => Err(error.into()),
    }
}

/// Returns true if the file still has this name.
// The types of the fields differ among systems.
#[allow(clippy::unnecessary_cast)]
pub(super) fn is_at(file: &File, path: &CStr) -> bool {
    there(path).is_some_and(|there| {
        file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.st_dev as u64, there.st_ino as u64))
    })
}

/// Returns the status of a path. Does not follow links.
fn there(path: &CStr) -> Option<libc::stat> {
    // SAFETY: the path ends in NUL. The pointer is to a local value, for which zeros are valid.
    unsafe {
        let mut there: libc::stat = core::mem::zeroed();
        (libc::lstat(path.as_ptr(), &mut there) == 0).then_some(there)
    }
}

/// Moves a ring file that this process has locked to the name for old ones, and replaces an older
/// one there.
fn set_aside(path: &CStr) -> Result<(), NoRing> {
    let mut old = Buffer::<1100>::new();
    let is_whole = old.push(path.to_bytes()).and_then(|()| write!(old, "{RING_OLD}\0")).is_ok();
    let Some(old) = CStr::from_bytes_with_nul(old.as_bytes()).ok().filter(|_| is_whole) else {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG).into());
    };
    // Kept open until it is replaced, so that no running process begins to use it meanwhile.
    let older = match open(old, libc::O_RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // A link, for example, which is not followed.
        Err(_) => return Err(NoRing::Old),
        Ok(older) => Some(older),
    };
    if let Some(older) = &older
        && (matches!(found(older)?, Ring::Other | Ring::Theirs(_)) || lock(older).is_err())
    {
        return Err(NoRing::Old);
    }
    // SAFETY: both paths end in NUL.
    match unsafe { libc::rename(path.as_ptr(), old.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().into()),
    }
}

/// Returns the head of the ring file that a path leads to. Does not allocate.
pub(crate) fn ring_at(path: &CStr) -> Option<RingHead> {
    match found(&open(path, libc::O_RDONLY).ok()?) {
        Ok(Ring::Whose(head)) => Some(head),
        _ => None,
    }
}
