//! Events in order, each with memory of its own.

use crate::order::events::Events;
use crate::registry::owned::OwnedEvent;
use crate::report::error::Result;

/// An iterator of events with memory of their own ([`Events::into_owned`]). After an error it ends.
///
/// [`Events`] is several times as fast, because it lends its events.
#[derive(Debug)]
#[must_use = "`next` reads the events"]
pub struct OwnedEvents<'s> {
    events: Events<'s>,
    has_ended: bool,
}

impl<'s> Events<'s> {
    /// Makes an iterator of the remaining events, which copies each.
    ///
    /// ```no_run
    /// use telemetry_decode::{OwnedEvent, Reader, Result};
    ///
    /// let events = Reader::open("telemetry.tel")?.events()?.into_owned();
    /// let slow: Vec<OwnedEvent> = events
    ///     .filter(|event| event.as_ref().is_ok_and(|event| event.name() == "TraceEnd"))
    ///     .collect::<Result<_>>()?;
    /// # Ok::<(), telemetry_decode::Error>(())
    /// ```
    pub fn into_owned(self) -> OwnedEvents<'s> {
        OwnedEvents { events: self, has_ended: false }
    }
}

impl<'s> OwnedEvents<'s> {
    /// Returns the events themselves: their completeness, sessions and positions so far.
    pub fn events(&self) -> &Events<'s> {
        &self.events
    }
}

impl Iterator for OwnedEvents<'_> {
    type Item = Result<OwnedEvent>;

    fn next(&mut self) -> Option<Result<OwnedEvent>> {
        if self.has_ended {
            return None;
        }
        let next = self.events.next().map(|event| event.map(|event| event.into_owned())).transpose();
        self.has_ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl std::iter::FusedIterator for OwnedEvents<'_> {}
