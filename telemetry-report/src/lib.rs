//! Summaries of event streams, and the report: one HTML file with pictures of a recording.
//!
//! The command `telemetry report` writes the file. Its commands `stats` and `spans` show the same
//! summaries as text.

#[doc(hidden)]
pub mod figures;
#[doc(hidden)]
pub mod spans;
#[doc(hidden)]
pub mod stats;
