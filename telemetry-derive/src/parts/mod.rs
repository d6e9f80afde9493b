//! Small parts of the output: names, docs, probes, and each parameter type in Rust.
//!
//! It uses no other room. It never writes an item: that is for `output`.

pub(crate) mod c_sorts;
pub(crate) mod called;
pub(crate) mod docs;
pub(crate) mod names;
pub(crate) mod probes;
pub(crate) mod signature;
pub(crate) mod sorts;
pub(crate) mod spare;
