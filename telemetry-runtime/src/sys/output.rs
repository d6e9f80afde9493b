//! Files that the process writes at a path that its user chose.
#![allow(unsafe_code)]

use core::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::fs::MetadataExt;

use crate::sys::text::Buffer;

/// Length of the longest path, with NUL, whose directory is checked. The system has no longer ones.
const MAX_PATH_LEN: usize = 4096;

/// A file or a link that another user has put into a directory that anyone may write to.
pub(crate) struct Planted {
    /// The user who owns it.
    pub(crate) user: u32,
    /// True if it is a symbolic link.
    pub(crate) is_link: bool,
}

/// Opens a file for writing, and creates it if it does not exist. Does not empty it, does not wait
/// for a pipe, and does not allocate.
///
/// In a directory that anyone may write to, such as `/tmp`, refuses links and files of other users.
/// With them, another user could make the process empty one of its own files, or could read what it
/// writes. Links and files of the directory's owner are accepted. Linux refuses the same if
/// `fs.protected_symlinks` and `fs.protected_regular` are set.
pub(crate) fn open_output(path: &CStr) -> io::Result<Result<File, Planted>> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = match open(path, flags | libc::O_NOFOLLOW) {
        Ok(file) => file,
        // Systems differ in their errors for a link, and for files that they refuse themselves.
        Err(error) => {
            // SAFETY: the path ends in NUL, and the pointer is to a value of our own.
            let Ok(there) = status(|at| unsafe { libc::lstat(path.as_ptr(), at) }) else { return Err(error) };
            let is_link = there.st_mode & libc::S_IFMT == libc::S_IFLNK;
            return match is_planted(there.st_uid, path) {
                true => Ok(Err(Planted { user: there.st_uid, is_link })),
                false if is_link => open(path, flags).map(Ok),
                false => Err(error),
            };
        }
    };
    let user = file.metadata()?.uid();
    if is_planted(user, path) {
        return Ok(Err(Planted { user, is_link: false }));
    }
    Ok(Ok(file))
}

fn open(path: &CStr, flags: libc::c_int) -> io::Result<File> {
    loop {
        // SAFETY: the path ends in NUL, and nothing else uses the descriptor.
        unsafe {
            match libc::open(path.as_ptr(), flags, 0o666 as libc::c_uint) {
                -1 => {}
                fd => return Ok(File::from_raw_fd(fd)),
            }
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Returns true if a file of this user is not to be trusted at a path.
// A function of its own, because paths take much of a stack.
#[inline(never)]
fn is_planted(user: u32, path: &CStr) -> bool {
    if user == crate::sys::machine::user() {
        return false;
    }
    let mut dir = Buffer::<MAX_PATH_LEN>::new();
    let path = path.to_bytes();
    let above = match path.iter().rposition(|&byte| byte == b'/') {
        None => b".",
        Some(slash) => &path[..slash.max(1)],
    };
    let written = dir.push(above).and_then(|()| dir.push(b"\0"));
    let Ok(dir) = CStr::from_bytes_with_nul(dir.as_bytes()) else { return true };
    if written.is_err() {
        return true;
    }
    // SAFETY: the path ends in NUL, and the pointer is to a value of our own.
    let found = status(|at| unsafe { libc::stat(dir.as_ptr(), at) });
    found.map_or(true, |dir| dir.st_mode & libc::S_IWOTH != 0 && dir.st_uid != user)
}

fn status(mut ask: impl FnMut(*mut libc::stat) -> libc::c_int) -> io::Result<libc::stat> {
    // SAFETY: zeros are valid.
    let mut found: libc::stat = unsafe { core::mem::zeroed() };
    if ask(&mut found) == 0 { Ok(found) } else { Err(io::Error::last_os_error()) }
}
