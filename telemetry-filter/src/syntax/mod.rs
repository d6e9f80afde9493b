//! The texts of conditions and limits, and the trees that conditions mean.
//!
//! This uses no other room. It must never know registries or events.

pub(crate) mod error;
pub(crate) mod limit;
mod number;
mod parse;
pub(crate) mod tree;

pub(crate) use parse::parse;
