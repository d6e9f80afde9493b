//! The event of a process that ends with a status other than 0.

use crate::own::registry as own;
use crate::run::state;
use crate::sys;

/// Makes the end of the process emit its status. Called after the function that writes everything
/// at the end is registered, because the last one that is registered runs first.
///
/// In a shared library nothing is registered. The program may close the library, and the C library
/// would then call a function that is gone.
pub(crate) fn begin() {
    if !sys::is_library() {
        sys::at_process_status(at_exit);
    }
}

/// A program that succeeds emits nothing: an event would say no more than the end of its session.
extern "C" fn at_exit(status: core::ffi::c_int, _: *mut core::ffi::c_void) {
    if status != 0 && state::is_running() && !state::is_of_parent() {
        own::exited(status);
    }
}
