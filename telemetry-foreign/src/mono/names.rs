//! Names of addresses from anywhere in the log, in the events that the registry marks.

use telemetry_decode::Labels;
use telemetry_decode::names::{NameValue, NamedAt, Namings};
use telemetry_schema::NameBy;

use super::decode::Item;

/// Collects names, until they become a session's labels.
pub(super) struct Names {
    labels: Labels,
    room: usize,
}

impl Names {
    /// The most bytes of names of a log, of all its runs together. Further names are not kept, and
    /// addresses stay numbers.
    pub(super) const ROOM: usize = 32 << 20;

    /// Makes an empty collection. `room` is the number of bytes that its names may take.
    pub(super) fn new(room: usize) -> Names {
        Names { labels: Labels::default(), room }
    }

    /// Returns the number of bytes that further names may take.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Takes the names in an event.
    #[inline]
    pub(super) fn take(&mut self, namings: &Namings, item: &Item<'_>) {
        for mark in namings.of_event(item.event as usize) {
            let said = match mark.naming.name {
                NameBy::Text => NameValue::Text(item.text(mark.naming.by)),
                _ => NameValue::Bits(item.value(mark.naming.by)),
            };
            let at = NamedAt::in_order(item.ticks);
            mark.note(at, item.value(mark.naming.of), said, &mut self.labels, &mut self.room);
        }
    }

    /// Returns all of them.
    pub(super) fn labels(self) -> Labels {
        self.labels
    }
}
