//! Recovery of streams from memory images: ring files, core dumps, any bytes with blocks in them.
//!
//! This may use `decode`, `write` and those before `decode`. It must never trust a block that it
//! did not check.

pub(crate) mod accounts;
pub(crate) mod contents;
pub(crate) mod copies;
pub(crate) mod image;
pub(crate) mod recovered;
pub(crate) mod remnants;
pub(crate) mod scan;
pub(crate) mod write;

pub use recovered::{OpenBlock, Recovered, RecoveredLane, Refusal, Refused, ThreadInFlight};
