//! Conditions as readers use them.
//!
//! This may use all other rooms.

mod events;
mod spans;
mod whole;

pub use spans::{Marker, Marks, SpanCondition, SpanParts};
pub use whole::Condition;
