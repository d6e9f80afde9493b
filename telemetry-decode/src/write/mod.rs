//! The reference writer of streams.
//!
//! This may use `bytes`, `lanes`, `sessions` and `values`. It must never know how streams are read.

pub(crate) mod block;
pub(crate) mod error;
pub(crate) mod lane;
pub(crate) mod pack;
pub(crate) mod writer;
