//! Spans as text, JSON and CSV.
//!
//! It may use `text`, `term` and `input`. It never opens an input.

pub(crate) mod paired;
pub(crate) mod sampled;
pub(crate) mod selected;
pub(crate) mod shown;
