//! Censuses: how much there was of each class, by the marks `census` of events.
//!
//! It uses no other room. Its memory is limited, however many censuses and classes there are.

mod class;
mod counted;
mod shape;

pub use counted::{Amounts, Counted, OTHERS, Series, Whole};
pub use shape::{ClassShape, Shape};
