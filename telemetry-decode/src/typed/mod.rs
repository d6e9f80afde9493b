//! Events as generated structs, for streams of the program's or another version of the registry.
//!
//! This may use `order`, `decode`, `registry`, `sessions`, `values` and `report`. It must never
//! know one registry in particular.

pub(crate) mod difference;
pub(crate) mod forms;
pub(crate) mod generated;
pub(crate) mod one_event;
#[cfg(feature = "serde")]
pub(crate) mod serialize;
pub(crate) mod typed_events;
