//! Batches as Parquet files.

mod cells;
mod encodings;
mod metadata;
mod schema;
pub(crate) mod writer;
