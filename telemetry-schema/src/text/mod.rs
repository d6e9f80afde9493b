//! Texts: reading TOML, the keys and limits of files, words, and the display of mistakes.
//!
//! It uses no other room. It never knows what a registry means.

pub(crate) mod diagnostic;
pub mod keys;
pub mod limits;
pub(crate) mod snippet;
pub(crate) mod syntax;
pub(crate) mod words;
