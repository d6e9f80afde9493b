//! Counts of events as text and JSON.
//!
//! It may use `text`, `term` and `input`. It never opens an input.

pub(crate) mod shown;
