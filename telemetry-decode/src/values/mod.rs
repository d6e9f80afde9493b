//! Values of parameters, and their encoded form.
//!
//! This may use no other room. It must never know which event a value belongs to.

#[cfg(feature = "serde")]
pub(crate) mod date;
pub(crate) mod key;
pub(crate) mod raw;
#[cfg(feature = "serde")]
pub(crate) mod serialize;
pub(crate) mod value;
