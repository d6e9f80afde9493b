//! Batches as Parquet files.

mod cells;
mod encodings;
pub(crate) mod group;
mod metadata;
mod schema;
pub(crate) mod writer;
