//! Registry files that a command is given, what was released of them, and what changed since.
//!
//! It may use `text`, `term` and `git`. It has no rules about versions: `telemetry-schema` has them.

pub(crate) mod args;
pub(crate) mod change;
pub(crate) mod released;
