//! The macro's knowledge of a counter as constant data, by which the runtime samples it.

use crate::sys::atomic::AtomicU64;

/// A counter of a registry.
#[doc(hidden)]
pub struct CounterDef {
    /// The index of the event that has the samples.
    pub event: usize,
    /// True if each thread has a value.
    pub per_thread: bool,
    /// What counts beside the cells of threads.
    pub base: &'static AtomicU64,
    /// Emits a sample: the thread, and the value. A gauge has it in two's complement.
    pub sample: fn(u64, u64),
}
