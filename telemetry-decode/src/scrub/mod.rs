//! Streams without the values of sensitive parameters.
//!
//! This may use `decode`, `write` and those before `decode`. It must never copy a value that it did
//! not understand.

pub(crate) mod how;
mod labels;
mod part;
pub(crate) mod run;
mod siphash;

pub use how::{Method, Scrub};
pub use run::Scrubbed;
