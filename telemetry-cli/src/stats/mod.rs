//! Counts of events as text and JSON, and how programs ended.
//!
//! It may use `text`, `term`, `input` and `symbols`. It never opens an input.

pub(crate) mod counters;
pub(crate) mod ending;
pub(crate) mod grouped;
pub(crate) mod grouping;
pub(crate) mod groups;
pub(crate) mod shown;
pub(crate) mod sum;
pub(crate) mod unused;
