//! What several formats share: gzip, the id of a run, JSON, protobuf, and the result of writing.
//!
//! May use: no other room. Never: know the bytes of one system's log.

pub(crate) mod gzip;
pub(crate) mod json;
pub(crate) mod proto;
pub(crate) mod run_id;
pub(crate) mod written;
