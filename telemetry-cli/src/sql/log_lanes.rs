//! The lanes of another system's log, which has no blocks.

use std::collections::BTreeMap;

use telemetry_decode::completeness::LaneReport;
use telemetry_decode::{Event, Position};

/// Counts the events of a log by lane, with the numbers that a stream converted from it would have.
/// So the database recognizes the events of either.
#[derive(Default)]
pub(super) struct LogLanes {
    counts: BTreeMap<Key, u64>,
    /// The lane of the last event, and the number of its events since another lane's.
    last: Option<(Key, u64)>,
}

/// Id of the session, thread, fingerprint of the registry, bit of the kind.
type Key = (u64, u32, u64, u8);

impl LogLanes {
    #[inline]
    pub(super) fn count(&mut self, event: &Event<'_>) {
        let key = (event.session().id, event.thread(), event.known_registry().fingerprint, event.kind().bit);
        match &mut self.last {
            Some((last, events)) if *last == key => *events += 1,
            _ => {
                self.settle();
                self.last = Some((key, 1));
            }
        }
    }

    /// Returns all lanes, with the state for a later load.
    pub(super) fn read(mut self) -> impl Iterator<Item = (LaneReport, Position)> {
        self.settle();
        self.counts.into_iter().map(|((session, thread, registry, kind), read)| {
            let mut lane = LaneReport::default();
            (lane.session, lane.thread, lane.registry, lane.kind, lane.read) =
                (session, thread, registry, kind, read);
            (lane, Position::of_log(session, thread, registry, kind, read))
        })
    }

    fn settle(&mut self) {
        if let Some((key, events)) = self.last.take() {
            *self.counts.entry(key).or_default() += events;
        }
    }
}
