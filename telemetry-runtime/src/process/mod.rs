//! The life of the process: start, the drain's thread, fork and end. Uses every other room. Only
//! the crate root uses this one, and registries do by their `upcalls`. The start never allocates:
//! the first event may come from inside the program's allocator.

mod attach;
pub(crate) mod drain_thread;
pub(crate) mod fork;
mod losses;
pub(crate) mod start;
