//! Reads registry files and lock files from disk: the only I/O of this crate.
//!
//! It may use all other rooms. It never writes a file, and has no rules of its own.

pub(crate) mod error;
pub(crate) mod file;
