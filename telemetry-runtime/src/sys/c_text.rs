//! Text from callers in C.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char};

/// Length of the longest text that is accepted.
const MAX_TEXT_LEN: usize = 4096;

/// Returns the text at a pointer. Returns `None` if the pointer is null or the text is too long.
///
/// # Safety
/// The pointer must be null, or point to text that ends in NUL.
pub(crate) unsafe fn text<'t>(at: *const c_char) -> Option<&'t CStr> {
    if at.is_null() {
        return None;
    }
    // SAFETY: no byte beyond the first NUL is read.
    let len = (0..MAX_TEXT_LEN).find(|&index| unsafe { *at.add(index) } == 0)?;
    // SAFETY: there are `len` bytes, and the NUL.
    CStr::from_bytes_with_nul(unsafe { core::slice::from_raw_parts(at.cast(), len + 1) }).ok()
}
