//! The list of formats: names, and how a log is recognized, unpacked, read and written.
//!
//! May use: every room. Never: know the bytes of a log. Each system's room does.

mod format;
mod unpack;

pub use format::{Format, RECOGNIZED_BY, known_registry};
