//! What a writer of a timeline gets.

use std::io;

use telemetry_decode::{Event, Events};

use crate::common::written::Written;

/// A writer of events and spans for a viewer with a time axis.
///
/// Events come by time. An event that begins or ends spans is passed to [`Timeline::hold`]. Later
/// each of its spans names it by its number. Every other event is passed to [`Timeline::event`].
pub trait Timeline {
    /// Writes an event that is not an end of a span.
    ///
    /// # Errors
    /// Those of the output.
    fn event(&mut self, event: &Event<'_>) -> io::Result<()>;

    /// Keeps the parameters of an event that begins and ends these numbers of spans.
    ///
    /// # Errors
    /// Those of the output.
    fn hold(&mut self, number: u64, begins: u32, ends: u32, event: &Event<'_>) -> io::Result<()>;

    /// Writes a span.
    ///
    /// # Errors
    /// Those of the output.
    fn span(&mut self, span: &Span<'_>) -> io::Result<()>;

    /// Writes what is missing, and the end. Says what was left out.
    ///
    /// # Errors
    /// Those of the output.
    fn finish(&mut self, events: &Events<'_>) -> io::Result<Written>;
}

/// A span, from one moment to another.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::exhaustive_structs)]
pub struct Span<'a> {
    /// Its type, as a number that is the caller's.
    pub def: usize,
    /// The name of its type.
    pub name: &'a str,
    /// The kind of the event that begins it.
    pub category: &'a str,
    /// It is told from others by a key, so it may end on another thread.
    pub has_key: bool,
    /// All spans of a thread with this mark nest. Those without it need rows of their own.
    pub is_nested: bool,
    /// Id of its session.
    pub session: u64,
    /// The thread and time of its begin.
    pub begin: Moment,
    /// The thread and time of its end, if it has one.
    pub end: SpanEnd,
}

/// One end of a span.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::exhaustive_structs)]
pub struct Moment {
    /// The number that the event was held by.
    pub number: u64,
    /// The session's number for the thread.
    pub thread: u32,
    /// Nanoseconds since the start of the session.
    pub ns: i64,
}

/// How a span ends.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::exhaustive_enums)]
pub enum SpanEnd {
    /// It is still open. Its begin is told early, and it is told again. So a span that begins at
    /// the same time, inside of it, can follow.
    Open,
    /// At this moment. It is certain if no event of its type can be missing in between.
    At(Moment, bool),
    /// It has no end.
    Never,
    /// It was open when too many others were, and its end is not known.
    Dropped,
}
