//! The checked registry: its parts, how its types are encoded, its canonical form.
//!
//! It may use `text`. It never reads a file, and never checks: its values keep every rule.

pub(crate) mod canonical;
pub(crate) mod census;
pub(crate) mod counter;
mod hidden;
pub(crate) mod limit;
pub(crate) mod naming;
pub(crate) mod program;
pub(crate) mod range;
pub(crate) mod registry;
pub(crate) mod replay;
pub(crate) mod rule;
pub(crate) mod sensitive;
mod size;
pub(crate) mod slots;
pub(crate) mod sort;
mod symbols;
pub(crate) mod tracing;
