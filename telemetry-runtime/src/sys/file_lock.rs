//! Locks of files, which keep other processes and other copies of the runtime away.

use core::time::Duration;
use std::fs::{File, TryLockError};
use std::io;

use crate::sys::wait::wait;

/// Locks a file for this process, and waits up to `longest` for that. Returns false if another
/// process has the lock.
///
/// # Errors
/// Returns an error if the file cannot be locked, as on some network file systems.
pub(crate) fn lock_file(file: &File, longest: Duration) -> io::Result<bool> {
    let mut locked = Err(TryLockError::WouldBlock);
    wait(longest, || {
        locked = file.try_lock();
        !matches!(locked, Err(TryLockError::WouldBlock))
    });
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
