//! A small generational collector, as it might stand in a language's runtime, told of by the
//! events of `events.toml`.
//!
//! A [`Heap`] belongs to one thread, so that no thread ever waits for another's collection. In it an
//! [`arena`] hands out memory in grains; the collected pool makes a [`segment`] of each for objects
//! that are moved by a [`trace`], the manual pool of [`tables`] makes blocks of them that stay where
//! they are. There is no `unsafe` in it: memory is one slice of words, a reference is the number of
//! a word, and a mistake of the collector is a panic or a failed check, never undefined.

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
