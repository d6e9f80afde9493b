//! The test of one event type: a tree of comparisons with the bits and bytes of parameters.
//!
//! This uses no other room. It must never know the text of a condition, or a registry.

pub(crate) mod leaf;
pub(crate) mod text;
pub(crate) mod tree;
