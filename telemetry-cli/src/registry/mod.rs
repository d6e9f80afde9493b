//! Registry files as arguments, their last release, the changes since, and registries in programs.
//!
//! It may use `text`, `term` and `git`. It never decides about versions: `telemetry-schema` has the
//! rules.

pub(crate) mod args;
mod called;
pub(crate) mod change;
pub(crate) mod in_program;
pub(crate) mod released;
