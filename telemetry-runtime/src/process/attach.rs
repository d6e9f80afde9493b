//! Lets users reach a program that nothing has prepared, from the first emitter that it reaches.
//!
//! docs/design/attach.md has the reasons and the costs.

use crate::socket;
use crate::sys;
use crate::sys::atomic::{AtomicU32, Ordering};

/// How often an emitter that may be in a signal handler leaves the start to a later one. A thread
/// that blocks signals for good looks the same, and its events must become cheap in the end.
const MAX_DEFERRED: u32 = 1000;

static DEFERRED: AtomicU32 = AtomicU32::new(0);

/// Starts the thread of the control socket, if the process is to have one that was not asked for.
/// Returns false if this code may be in a signal handler, where no thread can be started. The first
/// emitter outside of handlers then does it.
pub(crate) fn begin() -> bool {
    if !socket::is_missing() {
        return true;
    }
    if sys::may_be_in_handler() {
        return DEFERRED.fetch_add(1, Ordering::Relaxed) >= MAX_DEFERRED;
    }
    socket::begin_soon();
    true
}
