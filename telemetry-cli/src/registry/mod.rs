//! Registry files as arguments, their last release, and the changes since.
//!
//! It may use `text`, `term` and `git`. It never decides about versions: `telemetry-schema` has the
//! rules.

pub(crate) mod args;
pub(crate) mod change;
pub(crate) mod released;
