//! The option for errors only.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_ON: AtomicBool = AtomicBool::new(false);

/// Leaves out warnings, the verdict and progress from now on.
pub(crate) fn set() {
    IS_ON.store(true, Ordering::Relaxed);
}

/// Returns true if only errors are shown.
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}
