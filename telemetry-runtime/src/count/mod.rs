//! What each thread counts: the counters of the program, and events that limits leave out.
//!
//! Uses `emit`, for the ends of threads, and the rooms before it. It never emits itself: `own`
//! samples the counters, and the functions of `LimitDef` tell what was left out.

pub(crate) mod cells;
pub(crate) mod counter;
pub(crate) mod limit;
pub(crate) mod list;
