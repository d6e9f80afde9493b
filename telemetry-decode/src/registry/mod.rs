//! A registry prepared for reading: its plan, its namings, the selection of a filter, its events.
//!
//! This may use `values` and `sessions`. It must never know which block or lane an event came from.

pub(crate) mod condition;
pub(crate) mod event;
pub(crate) mod filter;
pub(crate) mod known_registry;
pub(crate) mod namings;
pub(crate) mod owned;
pub(crate) mod param_value;
pub(crate) mod plan;
#[cfg(feature = "serde")]
pub(crate) mod serialize;
pub(crate) mod short;
