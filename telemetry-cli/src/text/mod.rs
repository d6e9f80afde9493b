//! The text forms of events, appended to a buffer of bytes without `write!` on the way of an event.

mod amount;
pub(crate) mod cnv;
pub(crate) mod cnv_line;
pub(crate) mod csv;
mod float;
pub(crate) mod json;
pub(crate) mod keyed;
mod message;
mod names;
mod number;
pub(crate) mod param;
pub(crate) mod print;
mod quoted;
pub(crate) mod scalar;
pub(crate) mod txt;
pub(crate) mod txt_of_cnv;

pub(crate) use amount::{count, grouped, number_text, signed_grouped};
pub(crate) use number::{decimal, signed_decimal};
pub(crate) use quoted::{escaped, escaped_bytes, escaped_text};
