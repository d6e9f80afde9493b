//! Traces in the JSON format of Chrome, which many viewers read.
//!
//! [`ChromeTrace`] writes them.
//!
//! May use: `common`, `timeline`. Never: know other formats.

mod output;
mod values;
mod write;

pub use write::ChromeTrace;
