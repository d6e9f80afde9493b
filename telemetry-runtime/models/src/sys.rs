//! What the runtime's files ask of the system.

/// Time does not pass: who waits for a lock waits for it.
pub(crate) fn monotonic_ns() -> u64 {
    0
}

pub(crate) fn yield_now() {
    loom::thread::yield_now();
}
