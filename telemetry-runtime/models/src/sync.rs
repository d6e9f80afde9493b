//! Loom's atomics in place of those of the runtime's `sync.rs`.

pub(crate) use loom::hint::spin_loop;
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU64, AtomicUsize, Ordering,
};

/// A function that is `const` in the runtime.
macro_rules! constant {
    ($(#[$doc:meta])* $visible:vis fn $($rest:tt)*) => { $(#[$doc])* $visible fn $($rest)* };
}
pub(crate) use constant;
