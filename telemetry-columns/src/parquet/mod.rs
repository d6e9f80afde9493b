//! Batches as Parquet files, behind the feature `parquet`.
//!
//! This may use `model` and `batch`. It must never read an event, nor need Arrow's arrays.

mod cells;
mod encodings;
pub(crate) mod group;
mod metadata;
mod schema;
pub(crate) mod writer;
