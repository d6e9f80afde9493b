//! Decodes the events of blocks: the state of a whole stream, and the loop that reads a part.
//!
//! This may use all rooms before it. It must never read from the input, nor choose which block is
//! next.

pub(crate) mod account;
mod again;
pub(crate) mod batch;
pub(crate) mod copies;
pub(crate) mod decoder;
pub(crate) mod event_batch;
pub(crate) mod name_lane;
pub(crate) mod part;
pub(crate) mod read;
pub(crate) mod reading;
pub(crate) mod report;
pub(crate) mod state;
mod unmatched;
pub(crate) mod walk;
