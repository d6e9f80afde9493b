//! Batches as Arrow's record batches, behind the feature `arrow`, and as its files and streams,
//! behind `ipc`.

pub(crate) mod arrays;
#[cfg(feature = "ipc")]
mod plain;
pub(crate) mod schema;
#[cfg(feature = "ipc")]
pub(crate) mod writer;
