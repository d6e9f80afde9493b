//! The generated half of a module: descriptions of events, their classes, and functions.
//!
//! It may use `text`. It never writes code that reads streams: that is in `support`.

pub(crate) mod classes;
pub(crate) mod descriptions;
