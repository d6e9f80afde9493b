//! Fits a condition to event types: names become parameters, and values get their types.
//!
//! This may use `syntax` and `test`. It must never read an event.

pub(crate) mod fields;
pub(crate) mod fitting;
mod params;
pub(crate) mod problem;
pub(crate) mod values;
