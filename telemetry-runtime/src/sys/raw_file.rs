//! Output for code that must neither allocate nor wait for a lock: panics, signal handlers,
//! debuggers.

use core::ffi::{CStr, c_int};
use core::fmt::{self, Arguments, Write};

#[cfg(all(unix, not(miri)))]
use crate::sys::descriptor::Descriptor;
use crate::sys::errno::IO;
#[cfg(any(not(unix), miri))]
use crate::sys::other::Descriptor;

/// A file or standard error. Its errors are the system's numbers.
pub(crate) struct RawFile(Descriptor);

impl RawFile {
    /// Returns standard error.
    pub(crate) fn stderr() -> Self {
        RawFile(Descriptor::stderr())
    }

    /// Creates a file, or empties it.
    pub(crate) fn create(path: &CStr) -> Result<Self, c_int> {
        Descriptor::create(path).map(RawFile)
    }

    /// Uses a descriptor that other code owns.
    #[cfg(all(unix, not(miri)))]
    pub(crate) fn borrowed(descriptor: c_int) -> Self {
        RawFile(Descriptor::borrowed(descriptor))
    }

    /// Writes all bytes.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), c_int> {
        while !bytes.is_empty() {
            match self.0.write(bytes)? {
                0 => return Err(IO),
                n => bytes = bytes.get(n..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    /// Writes text, some lines at a time.
    pub(crate) fn print(&mut self, text: Arguments<'_>) -> Result<(), c_int> {
        let mut lines = Buffered { file: self, text: [0; 512], len: 0, error: None };
        let _ = fmt::write(&mut lines, text);
        lines.flush();
        lines.error.map_or(Ok(()), Err)
    }
}

struct Buffered<'f> {
    file: &'f mut RawFile,
    text: [u8; 512],
    len: usize,
    error: Option<c_int>,
}

impl Buffered<'_> {
    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.file.write(&self.text[..self.len]).err();
        }
        self.len = 0;
    }
}

impl Write for Buffered<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.as_bytes().chunks(self.text.len()) {
            if part.len() > self.text.len() - self.len {
                self.flush();
            }
            self.text[self.len..][..part.len()].copy_from_slice(part);
            self.len += part.len();
        }
        if self.error.is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}
