//! The state of a session apart from its events: clock, facts, names, and texts in parts.
//!
//! This may use `lanes` and `values`. It must never keep more of a stream than its limits allow.

pub(crate) mod clock;
pub(crate) mod fact;
pub(crate) mod facts;
pub(crate) mod labels;
pub(crate) mod left_out;
pub(crate) mod marks;
pub(crate) mod session;
pub(crate) mod texts;
pub(crate) mod threads;
