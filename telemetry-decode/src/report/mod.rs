//! What was found of a stream, as data and in a few lines.
//!
//! This may use no other room. It counts and words what others found; it must never read anything.

pub(crate) mod completeness;
pub(crate) mod error;
pub(crate) mod mismatch;
pub(crate) mod opaque;
pub(crate) mod verdict;
