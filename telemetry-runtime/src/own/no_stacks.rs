//! Call stacks on systems and processors where they are not walked: all have the number 0.

use core::ffi::c_void;

use crate::memory::registry::Registry;

/// Returns 0.
#[inline(always)]
#[must_use]
pub fn stack(_: &'static Registry, _: usize) -> u32 {
    0
}

/// Returns 0.
#[must_use]
pub fn stack_at(_: &'static Registry, _: usize, _: *const c_void, _: *const c_void) -> u32 {
    0
}
