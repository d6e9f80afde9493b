//! Batches as Arrow's record batches, behind the feature `arrow`.

pub(crate) mod arrays;
pub(crate) mod schema;
