//! Figures that summarize many values: percentiles, frequent values, rates over time.
//!
//! It uses no other room. Its memory never grows with the number of values, and it never writes
//! text.

pub mod distribution;
pub mod frequent;
pub mod frequent_numbers;
pub mod keyed;
pub mod rate;
pub mod significance;
