//! Spans: begin and end events put together, their durations, and how they are shown.
//!
//! It may use `text`, `figures`, `term` and `input`. It never opens an input, and its memory grows only
//! with the spans that are open, of which there is a limit.

mod emissions;
mod gaps;
pub(crate) mod paired;
mod pairing;
pub(crate) mod shown;
mod tally;
