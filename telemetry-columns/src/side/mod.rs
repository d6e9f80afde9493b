//! The side tables: sessions, threads, labels, accounts and losses. With them, an answer from the
//! tables of events can be checked.
//!
//! This may use `model` and `batch`. It must never make the table of an event type.

pub(crate) mod accounts;
#[cfg(feature = "spans")]
pub(crate) mod carried_spans;
pub(crate) mod counters;
pub(crate) mod facts;
pub(crate) mod messages;
pub(crate) mod rows;
#[cfg(feature = "spans")]
pub(crate) mod spans;
