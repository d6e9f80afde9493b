//! Batches as Arrow's record batches, behind the feature `arrow`, and as its files and streams,
//! behind `ipc`.
//!
//! This may use `model` and `batch`. It must never read an event.

pub(crate) mod arrays;
#[cfg(feature = "ipc")]
mod plain;
pub(crate) mod schema;
#[cfg(feature = "ipc")]
pub(crate) mod writer;
