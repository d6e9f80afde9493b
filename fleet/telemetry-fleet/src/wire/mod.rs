//! What passes between `ship` and `collect`, as `docs/design/fleet.md` in the repository says.
//!
//! Knows no TLS and no segments: only frames.

mod frame;
mod message;
mod version;

pub use frame::{DATA_LEN, Kind, MAX_CONTROL, data, header, read_header};
pub use message::{
    Ask, Bye, Done, Hello, MAX_TEXT, Message, Outcome, Reply, Request, Segment, Status, Welcome,
};
pub use version::Version;

/// Unacknowledged bytes of segments that a shipper may send.
pub const WINDOW: u64 = 16 << 20;
