//! The entry for readers: which input, which order, which events.
//!
//! This may use all rooms before it but `write`. It must never decode anything itself.

pub(crate) mod reader;
