//! Small parts of the output: names in C, and comments.
//!
//! It uses no other room. It never writes a declaration: that is for `output`.

pub(crate) mod comment;
pub(crate) mod names;
