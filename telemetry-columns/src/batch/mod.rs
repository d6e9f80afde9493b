//! Events into columns, with the memory layout of Apache Arrow.
//!
//! This may use `model`. It must never choose a name or a type of a column.

pub(crate) mod batches;
pub(crate) mod builder;
pub(crate) mod column;
pub(crate) mod data;
pub(crate) mod error;
pub(crate) mod names;
pub(crate) mod plan;
pub(crate) mod stage;
pub(crate) mod table_batch;
