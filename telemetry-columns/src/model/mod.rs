//! The tables and columns of registries: names, types, docs.
//!
//! This uses no other room. It must never see an event.

pub(crate) mod column;
pub(crate) mod layout;
#[cfg(any(feature = "arrow", feature = "parquet"))]
pub(crate) mod meaning;
pub(crate) mod place;
pub(crate) mod sides;
pub(crate) mod table;
pub(crate) mod tables;
