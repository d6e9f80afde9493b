//! The text of a condition, and the tree that it means.
//!
//! This uses no other room. It must never know registries or events.

pub(crate) mod error;
mod number;
mod parse;
pub(crate) mod tree;

pub(crate) use parse::parse;
