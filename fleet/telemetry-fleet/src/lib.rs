//! Ships telemetry streams of many hosts to an object store.
//!
//! A stream is cut into [segments](segment). Each lies in the [spool] until the [store] has it.

pub mod segment;
pub mod ship;
pub mod spool;
pub mod store;
