//! Events and spans as a viewer with a time axis shows them: processes, threads, slices, instants.
//!
//! May use: `common`, and of `mono` its counters. Never: know the bytes of a format, or pair the
//! begins and ends of spans. Its caller passes pairs.

mod counters;
mod held;
mod loss;
mod per_event;
mod processes;
mod rows;
mod span;

pub(crate) use counters::{Counter, Counters, Reading};
pub(crate) use held::{Held, TOO_MANY};
pub(crate) use loss::losses;
pub(crate) use per_event::PerEvent;
pub(crate) use processes::{Process, Processes};
pub(crate) use rows::{RowKey, Rows};
pub use span::{Moment, Span, SpanEnd, Timeline};
