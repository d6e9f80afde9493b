//! The output: the header of a registry, and the package of a library.
//!
//! It may use `text`. It never reads a file, and has no rules about registries.

pub(crate) mod emitters;
pub(crate) mod header;
pub(crate) mod library;
pub(crate) mod types;
