//! The lock on the file of a stream, which tells other processes that the file is in use.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use crate::sys;

/// Locks the file. Returns false if another process has the lock. A file that cannot be locked
/// counts as free, as on some network file systems. On systems other than Unix, nothing is locked:
/// a lock would keep readers out.
pub(super) fn lock(file: &File) -> bool {
    !cfg!(unix) || sys::lock_file(file, Duration::ZERO).unwrap_or(true)
}

/// Returns true if a stream is being written to the file. Does not follow a link, and does not wait
/// for a pipe.
pub(super) fn is_in_use(path: &Path) -> bool {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW);
    }
    options.open(path).is_ok_and(|file| !lock(&file))
}
