//! Bytes of the input, and the blocks in them: files, memory and pipes, resynchronization,
//! compression.
//!
//! This may use `report`. It must never look at what a payload means.

pub(crate) mod blocks;
pub(crate) mod compression;
pub(crate) mod source;
pub(crate) mod spill;
