//! Marks a thread that starts the runtime or has its lock.

use core::cell::Cell;

std::thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The mark of a thread that starts the runtime or has its lock. Code that interrupts the thread
/// must not wait for it: a signal handler, or the program's allocator.
pub(crate) struct ReentryGuard(());

impl ReentryGuard {
    /// Sets the mark. Returns `None` if the thread has it already.
    pub(crate) fn enter() -> Option<ReentryGuard> {
        (!IS_INSIDE.replace(true)).then(|| ReentryGuard(()))
    }
}

impl Drop for ReentryGuard {
    fn drop(&mut self) {
        IS_INSIDE.set(false);
    }
}
