//! Conditions as readers use them: for a whole stream, and for spans.
//!
//! This may use all other rooms. It must never parse a text, nor compare a value itself.

mod events;
mod spans;
mod whole;

pub use spans::{Marker, Marks, SpanCondition, SpanParts};
pub use whole::Condition;
