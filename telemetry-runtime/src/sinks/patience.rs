//! Whether a sink may wait for its reader.

use crate::sys::atomic::{AtomicUsize, Ordering};

/// Number of sinks in use.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of sinks in use.
pub(crate) fn set_count(sinks: usize) {
    COUNT.store(sinks, Ordering::Relaxed);
}

/// Returns true if a sink may wait for its reader for a moment, because no other sink would wait
/// with it.
pub(crate) fn may_wait() -> bool {
    COUNT.load(Ordering::Relaxed) <= 1
}
