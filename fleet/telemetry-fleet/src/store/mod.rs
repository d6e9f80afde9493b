//! The store that segments are shipped to.
//!
//! May use `segment`. It never looks into a segment.

mod error;
mod objects;
mod open;
pub(crate) mod secrets;
mod segments;

pub use error::StoreError;
pub use objects::{Listed, Tagged};
pub use segments::{Put, Store};
