//! The meaning of a telemetry relation.
//!
//! [`parse`] turns the text of an `events.toml` into a checked [`Registry`], or into everything
//! that is wrong with it. The macro, the generators, the decoders and the tools all call it.

mod model;

pub use model::*;
