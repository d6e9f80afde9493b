//! Text forms of events, numbers, dates and tables. Lines are appended to a buffer of bytes.
//!
//! It uses no other room. It never reads a stream, writes a file, or ends a command, and it does
//! not use `write!` for each event.

mod amount;
#[cfg(unix)]
pub(crate) mod brief;
pub(crate) mod cnv;
pub(crate) mod cnv_line;
pub(crate) mod cnv_registries;
pub(crate) mod csv;
pub(crate) mod date;
mod elapsed;
mod float;
pub(crate) mod hint;
pub(crate) mod json;
mod message;
mod names;
mod number;
pub(crate) mod param;
pub(crate) mod path;
pub(crate) mod print;
pub(crate) mod quantity;
mod quoted;
pub(crate) mod scalar;
pub(crate) mod sniff;
pub(crate) mod table;
pub(crate) mod txt;
pub(crate) mod txt_of_cnv;

pub(crate) use amount::{count, grouped, number_text, signed_grouped};
pub(crate) use elapsed::elapsed;
pub(crate) use number::{decimal, signed_decimal};
pub(crate) use quoted::{escaped_bytes, escaped_text};
