//! Names of addresses from anywhere in the log, in the events that the registry marks.

use telemetry_decode::Labels;
use telemetry_decode::names::{NameValue, Namings};
use telemetry_schema::NameBy;

use super::decode::Item;

/// The most bytes of names of a log. Further names are not kept, and addresses stay numbers.
const ROOM: usize = 32 << 20;

/// Collects names, until they become a session's labels.
pub(super) struct Names {
    labels: Labels,
    room: usize,
}

impl Default for Names {
    fn default() -> Self {
        Names { labels: Labels::default(), room: ROOM }
    }
}

impl Names {
    /// Takes the names in an event.
    #[inline]
    pub(super) fn take(&mut self, namings: &Namings, item: &Item<'_>) {
        for mark in namings.of_event(item.event as usize) {
            let said = match mark.naming.name {
                NameBy::Text => NameValue::Text(item.text(mark.naming.by)),
                _ => NameValue::Bits(item.value(mark.naming.by)),
            };
            mark.note(item.ticks, item.value(mark.naming.of), said, &mut self.labels, &mut self.room);
        }
    }

    /// Returns all of them.
    pub(super) fn labels(self) -> Labels {
        self.labels
    }
}
