//! The atomics of the runtime, from one place, so that loom can take their part.

pub(crate) use core::hint::spin_loop;
pub(crate) use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence,
    fence,
};

/// A function that is `const` here, but not in models: loom's atomics are made at run time.
macro_rules! constant {
    ($(#[$doc:meta])* $visible:vis fn $($rest:tt)*) => { $(#[$doc])* $visible const fn $($rest)* };
}
pub(crate) use constant;
