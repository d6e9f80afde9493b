//! Censuses: how much there was of each class, by the marks `census` of events.
//!
//! It uses no other room. It never draws anything, and its memory never grows with the number of
//! censuses: each table has a maximum.

mod class;
mod counted;
mod shape;

pub use counted::{Amounts, Counted, LeftOut, OTHERS, Series, Whole};
pub use shape::{ClassShape, Shape};
