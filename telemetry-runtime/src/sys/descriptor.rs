//! Files without the standard library's locks and allocations.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_int};

/// A file.
pub(crate) struct Descriptor {
    number: c_int,
    owned: bool,
}

impl Descriptor {
    pub(crate) fn stderr() -> Self {
        Descriptor::borrowed(libc::STDERR_FILENO)
    }

    /// Somebody else's, who closes it.
    pub(crate) fn borrowed(number: c_int) -> Self {
        Descriptor { number, owned: false }
    }

    /// Makes a file anew, or says with which error of the system that failed.
    pub(crate) fn create(path: &CStr) -> Result<Self, c_int> {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
        // SAFETY: the path ends in NUL.
        let number = retried(|| unsafe { libc::open(path.as_ptr(), flags, 0o666) } as isize)?;
        Ok(Descriptor { number: number as c_int, owned: true })
    }

    /// Writes some bytes, and says how many.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, c_int> {
        // SAFETY: the bytes are there for the call.
        retried(|| unsafe { libc::write(self.number, bytes.as_ptr().cast(), bytes.len()) })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: ours, and used no more.
            unsafe { libc::close(self.number) };
        }
    }
}

/// Makes a system call until no signal interrupts it.
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
