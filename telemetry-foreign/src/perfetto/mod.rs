//! Traces for Perfetto, in its protobuf format.
//!
//! [`PerfettoTrace`] writes them. Fields and their numbers are those of Perfetto's `.proto` files,
//! which promise to keep them.
//!
//! May use: `common`, `timeline`. Never: know other formats.

mod fields;
mod names;
mod packets;
mod tracks;
mod values;
mod write;

pub use write::PerfettoTrace;
