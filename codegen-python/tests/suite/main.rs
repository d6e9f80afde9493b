//! Generated modules, executed by CPython on streams that Rust wrote, and compared with the Rust
//! reader event by event and verdict by verdict.
//!
//! `TELEMETRY_PYTHON` names the interpreters, separated by spaces; by default `python3`.

mod dump;
mod python;

mod damage;
mod incomplete;
mod mps;
mod names;
mod objects;
mod same_events;
mod typing;
mod versions;

use telemetry_testing::{made, registries};
