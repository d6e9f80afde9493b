//! Call stacks in the parameters of events.
//!
//! It may use `stats`. It never adds anything up.

mod role;

pub use role::StackRole;
