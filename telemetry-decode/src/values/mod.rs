//! Values of parameters, and how they stand in packed bytes.
//!
//! This may use no other room. It must never know which event a value is of.

pub(crate) mod raw;
pub(crate) mod value;
