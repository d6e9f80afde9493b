//! Segments: pieces of streams, each in its own file, with a name from its content.
//!
//! May use the crates of the stream's format. Knows no store and no network.

mod carry;
mod context;
mod cutter;
mod inspect;
mod interval;
mod name;
mod session;

pub use cutter::{Cutter, Segment};
pub use inspect::Inspector;
pub use interval::{Interval, checksum};
pub use name::{Host, SegmentName};
