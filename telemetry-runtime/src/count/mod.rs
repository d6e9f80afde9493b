//! The counters of the program: what each thread has counted, and the sums.
//!
//! Uses `emit`, for the ends of threads, and the rooms before it. It never emits: `own` samples the
//! counters.

pub(crate) mod cells;
pub(crate) mod counter;
pub(crate) mod list;
