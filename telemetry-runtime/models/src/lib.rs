//! Loom models of the runtime's concurrency: its own files, with loom's atomics in place of the
//! processor's.
//!
//! `cargo test --release` runs every model through all different interleavings, and all values that
//! a load may return, with a limited number of preemptions. `docs/verification.md` says what each
//! one proves.
#![cfg(test)]
// Each model uses only a part of each file.
#![allow(dead_code)]

#[path = "../../src/sync/mod.rs"]
mod sync;
mod sys;

mod drain;
mod memory;
mod messages;
mod records;
mod stops;
mod wakes;
mod world;

/// Runs a model with a limited number of preemptions: enough for every race between two operations.
fn model(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}
