//! What the logs of all systems share: gzip, the id of a run, and the result of writing.
//!
//! May use: no other room. Never: know the bytes of one system's log.

pub(crate) mod gzip;
pub(crate) mod run_id;
pub(crate) mod written;
