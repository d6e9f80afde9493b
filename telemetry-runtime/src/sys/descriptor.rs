//! Files without the standard library's locks and allocations.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_int};
use std::os::fd::{AsRawFd, IntoRawFd};

/// A file descriptor.
pub(crate) struct Descriptor {
    number: c_int,
    owned: bool,
}

impl Descriptor {
    pub(crate) fn stderr() -> Self {
        Descriptor::borrowed(libc::STDERR_FILENO)
    }

    /// Uses a descriptor of other code, which closes it.
    pub(crate) fn borrowed(number: c_int) -> Self {
        Descriptor { number, owned: false }
    }

    /// Creates a file, or empties it. Returns the system's error number on failure, and `EPERM`
    /// where [`open_output`](crate::sys::output::open_output) refuses the file.
    pub(crate) fn create(path: &CStr) -> Result<Self, c_int> {
        let number = |error: std::io::Error| error.raw_os_error().unwrap_or(libc::EIO);
        let file = crate::sys::output::open_output(path).map_err(number)?.map_err(|_| libc::EPERM)?;
        let metadata = file.metadata().map_err(number)?;
        if metadata.is_file() {
            file.set_len(0).map_err(number)?;
        }
        // SAFETY: the descriptor is open. Writes to a pipe or a terminal wait, as those of any
        // program do.
        unsafe {
            let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
            libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK);
        }
        Ok(Descriptor { number: file.into_raw_fd(), owned: true })
    }

    /// Writes some of the bytes, and returns how many.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, c_int> {
        // SAFETY: the bytes are valid for the call.
        retried(|| unsafe { libc::write(self.number, bytes.as_ptr().cast(), bytes.len()) })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: this value owns the descriptor, and does not use it again.
            unsafe { libc::close(self.number) };
        }
    }
}

/// Repeats a system call until no signal interrupts it.
fn retried(mut call: impl FnMut() -> isize) -> Result<usize, c_int> {
    loop {
        if let Ok(done) = usize::try_from(call()) {
            return Ok(done);
        }
        match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => {}
            error => return Err(error.unwrap_or(libc::EIO)),
        }
    }
}
