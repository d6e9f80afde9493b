//! A small generational collector, like that of a language runtime, which emits the events of
//! `events.toml`.
//!
//! A [`Heap`] belongs to one thread, so no thread waits for the collection of another. Its
//! [`arena`] allocates memory in grains. The collected pool makes each grain a [`segment`], for
//! objects that a [`trace`] moves. The manual pool of [`tables`] makes blocks that never move.
//! There is no `unsafe`: memory is one slice of words, and a reference is the index of a word. So a
//! bug in the collector is a panic or a failed check, never undefined behavior.

mod arena;
mod check;
mod generation;
mod heap;
mod memory;
mod pool;
mod segment;
mod tables;
mod trace;

pub(crate) use generation::OLDEST;
pub(crate) use heap::{Counters, Heap, OutOfMemory};
pub(crate) use memory::{Ref, Shape};
pub(crate) use tables::Table;
