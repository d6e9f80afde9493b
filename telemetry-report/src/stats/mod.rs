//! Counts of events, by type, thread and value.
//!
//! It may use `figures`. It never opens an input, and its memory never grows with the number of
//! events.

mod tally;

pub use tally::{Count, Counts, EventTally, ParamTally, Tally, Values, is_number};
