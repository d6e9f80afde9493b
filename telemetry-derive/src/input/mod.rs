//! The input of the attributes: their arguments, and the registry file that they name.
//!
//! It uses no other room. It never writes tokens of the output.

pub(crate) mod args;
pub(crate) mod source;
pub(crate) mod span_args;
