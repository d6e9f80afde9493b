//! Call stacks by their numbers, with the names of their functions.
//!
//! It may use `text`, `term` and `input`. It opens the files of code that a stream names. It never
//! shows more of them than names.

mod code;
mod elf;
mod module;
mod param;
mod perf_map;
mod stacks;
mod table;

pub(crate) use param::{StackParam, listed, places};
pub(crate) use stacks::Stacks;
