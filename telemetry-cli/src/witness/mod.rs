//! Witnesses of median changes: streams of the new registry, and what a decoder of the old one
//! would read in their bytes without a version check.
//!
//! It may use `text` and `term`. It never decides what a change is: `telemetry-schema` does.

mod changes;
mod misreading;
mod old;
mod sample;

pub(crate) use changes::{Witness, write};
