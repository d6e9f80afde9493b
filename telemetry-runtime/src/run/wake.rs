//! Wakes the drain, and knows which thread makes a pass.

use core::cell::Cell;

use crate::sync::bell::Bell;

/// The bell that the drain's thread sleeps at.
pub(crate) static BELL: Bell = Bell::new();

std::thread_local! {
    /// True if this thread makes a pass, and so must not wait for one.
    static PASSES: Cell<bool> = const { Cell::new(false) };
}

/// Makes the drain look for work at once.
pub(crate) fn wake() {
    BELL.ring();
}

/// Returns true if this thread makes a pass, so that it must not wait for memory.
pub(crate) fn is_passing() -> bool {
    PASSES.get()
}

/// Sets whether this thread makes a pass.
pub(crate) fn set_passing(passes: bool) {
    PASSES.set(passes);
}
