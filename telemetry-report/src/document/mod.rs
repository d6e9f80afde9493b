//! The document in the page: everything that its pictures and tables show.
//!
//! It may use `figures`, `stats`, `spans`, `census` and `gather`. It never reads an input. The file
//! `web/src/document.ts` describes the same document for the page.

pub(crate) mod against;
pub(crate) mod builder;
mod census;
mod counters;
pub(crate) mod forms;
mod losses;
mod memory;
mod names;
pub(crate) mod room;
mod source;
mod spans;
mod texts;
mod trim;
