//! The macro's knowledge of a limit as constant data, by which the runtime tells what was left out.

use crate::sys::atomic::AtomicU64;

/// An event of a registry that is not always recorded.
#[doc(hidden)]
pub struct LimitDef {
    /// The index of the event's bit in the mask.
    pub event: usize,
    /// The name of the event.
    pub name: &'static str,
    /// Emits that events were left out.
    pub tell: fn(&LeftOut),
    /// Events that threads without cells left out.
    pub strays: AtomicU64,
    /// How many of them were told.
    pub told: AtomicU64,
}

/// What is told of events that were left out.
#[doc(hidden)]
pub struct LeftOut {
    /// The name of the registry.
    pub registry: &'static str,
    /// The name of the event.
    pub event: &'static str,
    /// The system's number of the thread; 0 for threads without cells.
    pub thread: u64,
    /// How many the thread has left out since that was last told.
    pub left_out: u64,
    /// How many the process has left out so far.
    pub so_far: u64,
}

impl LimitDef {
    /// Creates the data of an event that has left out nothing.
    #[doc(hidden)]
    pub const fn new(event: usize, name: &'static str, tell: fn(&LeftOut)) -> LimitDef {
        LimitDef { event, name, tell, strays: AtomicU64::new(0), told: AtomicU64::new(0) }
    }
}
