//! The summaries of a page, gathered in one pass over events by time.
//!
//! It may use `figures`, `stats`, `spans`, `stacks` and `census`. Its memory never grows with the
//! number of events: each table has a maximum, and keeps less detail beyond it.

pub(crate) mod axis;
pub(crate) mod census;
pub(crate) mod counters;
pub(crate) mod cut;
pub(crate) mod durations;
pub(crate) mod flames;
pub(crate) mod gatherer;
pub(crate) mod heat;
pub(crate) mod lanes;
pub(crate) mod marks;
pub(crate) mod memory;
pub(crate) mod pauses;
pub(crate) mod samples;
pub(crate) mod slots;
pub(crate) mod stacks;
pub(crate) mod threads;
