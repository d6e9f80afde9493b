//! What the runtime's files need from the system.

pub(crate) mod atomic;

use std::sync::atomic::{AtomicUsize, Ordering};

/// Time stands still, so a thread that waits for a lock waits until it is free.
pub(crate) fn monotonic_ns() -> u64 {
    0
}

pub(crate) fn yield_now() {
    loom::thread::yield_now();
}

pub(crate) fn pause() {
    loom::thread::yield_now();
}

/// Returns a number that no other thread has. It is never 0.
pub(crate) fn me() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(1);
    loom::thread_local! { static ME: usize = THREADS.fetch_add(1, Ordering::Relaxed); }
    ME.with(|me| *me)
}
