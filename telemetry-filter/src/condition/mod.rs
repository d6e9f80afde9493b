//! Conditions as readers use them.
//!
//! This may use all other rooms.

mod events;
mod whole;

pub use whole::Condition;
