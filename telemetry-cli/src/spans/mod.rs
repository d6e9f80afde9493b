//! Spans: pairs of begin and end events, their durations, and their display.
//!
//! It may use `text`, `figures`, `term` and `input`. It never opens an input, and its memory grows
//! only with the number of open spans, which is limited.

mod emissions;
mod gaps;
pub(crate) mod paired;
mod pairing;
pub(crate) mod shown;
mod tally;
