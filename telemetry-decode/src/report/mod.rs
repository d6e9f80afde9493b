//! The result of reading: counts, errors, and the verdict in a few lines.
//!
//! This may use no other room. It counts and describes the findings of others; it must never read
//! anything.

pub(crate) mod completeness;
pub(crate) mod error;
pub(crate) mod gaps;
pub(crate) mod mismatch;
pub(crate) mod opaque;
pub(crate) mod verdict;
