//! The text that `perf script` prints, as a stream on the time line of other streams.
//!
//! May use: `common`. Never: write this text.

mod header;
mod line;
mod registry;
mod stream;

pub use header::{Anchor, anchor, other_clock};
pub use line::recognize;
pub use registry::registry;
pub use stream::write_stream;
