//! Marks a thread that starts the runtime or has its lock.

use core::cell::Cell;

std::thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The mark of a thread that starts the runtime or has its lock. Code that interrupts the thread
/// must not wait for it: a signal handler, or the program's allocator.
pub(crate) struct Inside(());

impl Inside {
    /// Sets the mark. Returns `None` if the thread has it already.
    pub(crate) fn enter() -> Option<Inside> {
        (!INSIDE.replace(true)).then(|| Inside(()))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}
