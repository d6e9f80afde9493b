//! Segments: pieces of streams, each in its own file, with a name from its content.
//!
//! May use the crates of the stream's format. Knows no store and no network.

mod carry;
mod context;
mod cutter;
mod inspect;
mod interval;
mod name;
mod priority;
mod scrubbed;
mod session;
mod shed;
mod text;
mod withheld;

pub use cutter::{Cutter, Segment};
pub use inspect::Inspector;
pub use interval::Intervals;
pub use name::{Host, SegmentName};
pub use scrubbed::is_scrubbed;
pub use shed::shed;
pub(crate) use withheld::marks_sensitive;
