//! Traces in the Common Trace Format, version 1.8: a folder with a description and a file for each
//! thread.
//!
//! [`CtfTrace`] writes them. May use: `common`, `timeline`. Never: know other formats.

mod fields;
mod metadata;
mod packets;
mod write;

pub use write::CtfTrace;
