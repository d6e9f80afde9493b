//! The output: what a registry becomes in Rust, one file for each kind of item, put together in
//! `module`.
//!
//! It may use `input` and `parts`. It never reads a file, and has no rules about registries.

mod c;
mod censuses;
mod counters;
mod decode;
mod emit;
mod fallback;
mod limits;
mod mapped;
mod messages;
pub(crate) mod module;
mod registry;
mod replay;
mod scopes;
mod serialize;
pub(crate) mod span;
#[cfg(test)]
mod tests;
mod types;
