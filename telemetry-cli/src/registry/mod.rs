//! Registry files as arguments, their last release, and the changes since.
//!
//! It may use `text`, `term` and `git`. It has no rules about versions: `telemetry-schema` has
//! them.

pub(crate) mod args;
pub(crate) mod change;
pub(crate) mod released;
