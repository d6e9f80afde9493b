//! Logs of other systems as a source of events.
//!
//! This may use `decode` and those before it. It must never know the format of any log.

pub(crate) mod bytes;
pub(crate) mod events;
pub(crate) mod log;
pub(crate) mod page;
