//! Rules of registries, checked on events in the order of time.
//!
//! A [`checker::Checker`] is a state machine for each rule. It may use `values`, `sessions`,
//! `registry`, `decode` and `report`. It must never read a stream, so that every reader can use it.

pub(crate) mod act;
pub(crate) mod checker;
pub(crate) mod found;
mod open;
mod roles;
pub(crate) mod rule;
mod switches;
mod waiting;
