//! Memory from the system, for what must not allocate.
#![allow(unsafe_code)]

use core::ptr::NonNull;

#[cfg(any(not(unix), miri))]
use crate::sys::other::{map, unmap};
#[cfg(all(unix, not(miri)))]
use crate::sys::unix::{map, unmap};

/// Bytes from the system, without the program's allocator. They are zeros at first.
pub(crate) struct Mapped {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: it owns its memory, and gives references to it only as to itself.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps memory. Returns `None` if there is none.
    pub(crate) fn new(len: usize) -> Option<Mapped> {
        Some(Mapped { at: NonNull::new(map(len)?)?, len })
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the memory has this length, is initialized, and stays as long as `self`.
        unsafe { core::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    /// Returns the bytes, to change them.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and no other reference exists.
        unsafe { core::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the memory is not used any more.
        unsafe { unmap(self.at.as_ptr(), self.len) };
    }
}
