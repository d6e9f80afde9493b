//! Names, literals and comments in Python, and the text of the reader.
//!
//! It uses no other room. It never knows what an event is.

pub(crate) mod python;
pub(crate) mod reader;
