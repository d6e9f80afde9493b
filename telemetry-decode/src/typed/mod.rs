//! Events as the structs that were generated for a registry, of this or another version.
//!
//! This may use `order`, `decode`, `registry`, `sessions`, `values` and `report`. It must never know
//! one registry in particular.

pub(crate) mod difference;
pub(crate) mod forms;
pub(crate) mod generated;
pub(crate) mod typed_events;
