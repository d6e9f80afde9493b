//! Figures that summarize many values: percentiles, frequent values, rates over time.
//!
//! It uses no other room. Its memory never grows with the number of values, and it never writes
//! text.

pub(crate) mod distribution;
pub(crate) mod frequent;
pub(crate) mod rate;
