//! Loom models of the runtime's concurrency: its own files, with loom's atomics in place of the processor's.
//!
//! `cargo test --release` runs every model through all interleavings that differ, and all values that a load may
//! see, up to a bound of preemptions. docs/verification.md says what each proves.
#![cfg(test)]
// Of each file a model uses some.
#![allow(dead_code)]

#[path = "../../src/bell.rs"]
mod bell;
#[path = "../../src/list.rs"]
mod list;
#[path = "../../src/messages/lock.rs"]
mod lock;
#[path = "../../src/open.rs"]
mod open;
#[path = "../../src/pages.rs"]
mod pages;
#[path = "../../src/publish.rs"]
mod publish;
#[path = "../../src/messages/slot.rs"]
mod slot;
#[path = "../../src/sorter.rs"]
mod sorter;
#[path = "../../src/spin.rs"]
mod spin;
#[path = "../../src/status.rs"]
mod status;
mod sync;
mod sys;

mod drain;
mod memory;
mod messages;
mod records;
mod wakes;
mod world;

/// Runs a model with at most so many preemptions: enough for every race between two operations.
fn model(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}
