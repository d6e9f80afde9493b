//! Counts of events, by type, thread and value, what never occurs, and how programs ended.
//!
//! It may use `figures`. It never opens an input, and its memory never grows with the number of
//! events.

mod ending;
mod tally;
mod usage;

pub use ending::{ENDINGS, Ending};
pub use tally::{Count, Counts, EventTally, ParamTally, Tally, Values, is_number};
pub use usage::{Switched, Unused, UnusedEvent, UnusedValue, Usage};
