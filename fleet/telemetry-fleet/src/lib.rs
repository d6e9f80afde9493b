//! Ships telemetry streams of many hosts to an object store.
//!
//! A stream is cut into [segments](segment). Each lies in the [spool] until the [store] has it,
//! directly or from a [collector](collect).

pub mod access;
pub mod collect;
pub mod daemon;
pub mod destination;
#[doc(hidden)]
pub mod failpoint;
pub mod log;
pub mod metrics;
pub mod remote;
pub mod segment;
pub mod ship;
pub mod spool;
pub mod store;
pub mod wire;
