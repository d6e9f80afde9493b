//! The error numbers of the system that the runtime itself returns.

use core::ffi::c_int;

/// `EINVAL`: an argument is invalid.
pub(crate) const INVALID: c_int = 22;
/// `EBUSY`: another thread is doing it.
pub(crate) const BUSY: c_int = 16;
/// `ENOMEM`: there is not enough memory.
pub(crate) const NO_MEMORY: c_int = 12;
/// `EIO`: any other error.
pub(crate) const IO: c_int = 5;
