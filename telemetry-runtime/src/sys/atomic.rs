//! The atomics of the runtime, imported from here only, so that loom can replace them.

pub(crate) use core::hint::spin_loop;
pub(crate) use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence,
    fence,
};

/// Declares a function that is `const`, except in models: loom creates its atomics at run time.
macro_rules! constant {
    ($(#[$doc:meta])* $visible:vis fn $($rest:tt)*) => { $(#[$doc])* $visible const fn $($rest)* };
}
pub(crate) use constant;
