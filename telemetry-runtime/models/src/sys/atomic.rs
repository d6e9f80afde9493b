//! Loom's atomics in place of those of the runtime's `sys/atomic.rs`.

use std::cell::Cell;

pub(crate) use loom::hint::spin_loop;
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

std::thread_local! {
    /// True if the system's barrier reaches all threads. A model without it shows why it is needed.
    static HAS_BARRIER: Cell<bool> = const { Cell::new(true) };
}

/// Makes the models of this test work without the barrier.
pub(crate) fn without_barrier() {
    HAS_BARRIER.with(|has| has.set(false));
}

/// The processor may reorder here, except for a barrier that another thread makes at any time. So
/// there is one on both sides.
pub(crate) fn compiler_fence(ordering: Ordering) {
    if HAS_BARRIER.with(Cell::get) {
        loom::sync::atomic::fence(ordering);
    }
}

/// Declares a function that is `const` in the runtime.
macro_rules! constant {
    ($(#[$doc:meta])* $visible:vis fn $($rest:tt)*) => { $(#[$doc])* $visible fn $($rest)* };
}
pub(crate) use constant;
