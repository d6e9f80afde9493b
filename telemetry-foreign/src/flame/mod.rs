//! Flame graphs: weights of stacks, as folded text, for speedscope and for pprof.
//!
//! [`FlameGraph`] adds up stacks in limited memory. May use: `common`. Never: know where stacks
//! come from.

mod folded;
mod graph;
mod pprof;
mod speedscope;

pub use graph::{FlameGraph, Rare};
