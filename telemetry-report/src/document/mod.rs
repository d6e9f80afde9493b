//! The document in the page: everything that its pictures and tables show.
//!
//! It may use `figures`, `stats`, `spans` and `gather`. It never reads an input. The file
//! `web/src/document.ts` describes the same document for the page.

pub(crate) mod builder;
pub(crate) mod forms;
mod losses;
mod memory;
pub(crate) mod room;
mod spans;
mod texts;
mod trim;
