//! Summaries of event streams, and the report: one HTML file with pictures of a recording.
//!
//! The command `telemetry report` writes the file. Its commands `stats` and `spans` show the same
//! summaries as text.

#[doc(hidden)]
pub mod census;
mod document;
#[doc(hidden)]
pub mod figures;
mod gather;
mod page;
#[doc(hidden)]
pub mod spans;
#[doc(hidden)]
pub mod stacks;
#[doc(hidden)]
pub mod stats;

pub use document::against::Against;
pub use document::builder::Origin;
pub use gather::gatherer::Gatherer;
pub use page::writer::Head;
