//! Sealed blocks in order, and counts of events: retained, evicted, lost. Uses `memory` and the
//! rooms before it. It never knows a sink. Lanes hand blocks over without a lock, and sorting takes
//! a lock for a moment.

pub(crate) mod counters;
pub(crate) mod progress;
pub(crate) mod sealed;
pub(crate) mod source;
