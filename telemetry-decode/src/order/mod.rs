//! Blocks in the order of reading: stream order, or by time over all lanes.
//!
//! This may use all rooms before it. It must never read the bytes of an event itself.

pub(crate) mod ahead;
pub(crate) mod block;
pub(crate) mod by_lane;
pub(crate) mod events;
pub(crate) mod in_stream;
pub(crate) mod index;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod merge;
pub(crate) mod owned_events;
pub(crate) mod retimed;
pub(crate) mod rows;
pub(crate) mod shards;
