//! The store that segments are shipped to.
//!
//! May use `segment`. It never looks into a segment.

mod objects;
mod open;
pub(crate) mod secrets;
mod segments;

pub use objects::Tagged;
pub use segments::{Put, Store, StoreError};
