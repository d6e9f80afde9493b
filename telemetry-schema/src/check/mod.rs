//! All rules about a registry, one file for each part of it.
//!
//! It may use `text`, `model` and `version`. It reads a file once. It replaces an invalid value by
//! a harmless one, so that the rest is checked too. It never reports a mistake that only follows
//! from a reported one.

mod allows;
mod codes;
pub(crate) mod context;
mod counters;
mod emitters;
mod events;
mod fields;
mod kinds;
mod limits;
mod marks;
mod messages;
mod names;
mod naming;
mod params;
mod presets;
mod prose;
pub(crate) mod registry;
mod replay;
mod rules;
mod since;
mod spans;
mod time;
mod tracing;
mod types;
mod versions;
