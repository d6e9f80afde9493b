//! Names, literals and comments in Python.
//!
//! It uses no other room. It never knows what an event is.

pub(crate) mod python;
