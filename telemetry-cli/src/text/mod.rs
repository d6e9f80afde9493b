//! The text forms of events, appended to a buffer of bytes without `write!` on the way of an event.

mod amount;
pub(crate) mod cnv;
pub(crate) mod cnv_line;
mod float;
mod names;
mod number;
pub(crate) mod print;
mod quoted;
pub(crate) mod txt;

pub(crate) use amount::{count, grouped, signed_grouped};
pub(crate) use number::decimal;
pub(crate) use quoted::{escaped, escaped_text};
