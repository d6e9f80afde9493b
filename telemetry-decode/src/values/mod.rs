//! Values of parameters, and their encoded form.
//!
//! This may use no other room. It must never know which event a value belongs to.

pub(crate) mod raw;
pub(crate) mod value;
