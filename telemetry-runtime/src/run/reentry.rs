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

#[cfg(test)]
mod tests {
    use super::ReentryGuard;

    #[test]
    fn a_thread_has_the_mark_once() {
        let enter = || ReentryGuard::enter().is_some();
        assert_eq!([enter(), enter()], [true; 2], "each gives it back");
        let inside = ReentryGuard::enter();
        assert!(inside.is_some());
        assert_eq!([enter(), enter()], [false; 2]);
        assert!(std::thread::spawn(enter).join().unwrap(), "another thread");
        drop(inside);
        assert!(enter());
    }
}
