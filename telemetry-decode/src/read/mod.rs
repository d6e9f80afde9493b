//! The way in: what to read, in which order, which events.
//!
//! This may use all rooms before it but `write`. It must never decode anything itself.

pub(crate) mod reader;
