//! The tables and columns of registries. This room sees no events.

pub(crate) mod column;
pub(crate) mod layout;
#[cfg(any(feature = "arrow", feature = "parquet"))]
pub(crate) mod meaning;
pub(crate) mod place;
pub(crate) mod sides;
pub(crate) mod table;
pub(crate) mod tables;
