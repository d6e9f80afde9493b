//! Reads the stream of a capture: which events belong to it, and whether any is missing.

use std::collections::HashMap;
use std::fmt;

use telemetry_decode::{Completeness, Event, OwnedEvent, Reader, Result};
use telemetry_runtime::__private::testing::{Loss, own};

use super::recording::{End, Range};

/// The events of a capture, in the order of time.
pub(super) struct Account {
    pub(super) events: Vec<OwnedEvent>,
    pub(super) absent: Absent,
}

/// Events that a capture should have and has not, by cause.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Absent {
    /// There was no memory for them.
    pub(super) pool: u64,
    /// They interrupted another event of their thread.
    pub(super) reentrant: u64,
    /// They were recorded. Others took their memory before they were written, or their blocks
    /// cannot be read.
    pub(super) unread: u64,
}

impl Absent {
    pub(super) fn total(&self) -> u64 {
        self.pool + self.reentrant + self.unread
    }
}

/// Formats the counts that are not zero.
impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.pool, "without memory"),
            (self.reentrant, "inside of another event"),
            (self.unread, "overwritten or not readable"),
        ];
        let mut between = "";
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{between}{count} {what}")?;
            between = ", ";
        }
        Ok(())
    }
}

/// The number of events that a range has of a lane: index of the range, registry, kind.
type Read = HashMap<(usize, u64, u8), u64>;

/// Reads a stream. `strays` are the losses without a lane since the capture began.
pub(super) fn read(stream: &[u8], ranges: &[Range], strays: Loss) -> Result<Account> {
    let mut events = Reader::from_slice(stream).show_sensitive(true).events()?;
    let (mut found, mut read) = (Vec::new(), Read::new());
    while let Some(event) = events.next()? {
        // Those of the runtime are not what a test is about.
        if event.registry().name == own::NAME {
            continue;
        }
        let mut is_wanted = false;
        for (index, _) in ranges.iter().enumerate().filter(|(_, range)| range.has(&event)) {
            *read.entry((index, event.known_registry().fingerprint, event.kind().bit)).or_default() += 1;
            is_wanted = true;
        }
        if is_wanted {
            found.push(event.into_owned());
        }
    }
    let mut absent = Absent { pool: strays.pool, reentrant: strays.reentrant, unread: 0 };
    let completeness = events.completeness();
    let own = events.registries().iter().find(|known| known.registry.name == own::NAME);
    let own = own.map(|known| known.fingerprint);
    for (index, range) in ranges.iter().enumerate() {
        match &range.end {
            End::At(_) => range.add_absent(index, &read, own, &mut absent),
            End::OfThread => range.add_absent_of_thread(&completeness, own, &mut absent),
            End::Open => {}
        }
    }
    Ok(Account { events: found, absent })
}

impl Range {
    /// Returns true if an event is in the range.
    fn has(&self, event: &Event<'_>) -> bool {
        if !self.numbers.has(event.thread()) {
            return false;
        }
        let (registry, kind) = (event.known_registry().fingerprint, event.kind().bit);
        let position = event.position().unwrap_or(0);
        let begin = self.begin.of(event.thread(), registry, kind).map_or(0, |lane| lane.recorded);
        let is_before_end = match &self.end {
            End::At(end) => {
                end.of(event.thread(), registry, kind).is_some_and(|lane| position < lane.recorded)
            }
            End::Open | End::OfThread => true,
        };
        position >= begin && is_before_end
    }

    /// Counts what a range between two positions lacks.
    fn add_absent(&self, index: usize, read: &Read, own: Option<u64>, absent: &mut Absent) {
        let End::At(end) = &self.end else { return };
        for lane in end.iter().filter(|lane| Some(lane.registry) != own) {
            let begin = self.begin.of(lane.thread, lane.registry, lane.kind);
            let (recorded, pool, reentrant) =
                begin.map_or((0, 0, 0), |lane| (lane.recorded, lane.lost_pool, lane.lost_reentrant));
            let read = read.get(&(index, lane.registry, lane.kind)).copied().unwrap_or(0);
            absent.pool += lane.lost_pool - pool;
            absent.reentrant += lane.lost_reentrant - reentrant;
            absent.unread += (lane.recorded - recorded).saturating_sub(read);
        }
    }

    /// Counts what the stream says that a thread lacks which began in the capture.
    fn add_absent_of_thread(&self, completeness: &Completeness, own: Option<u64>, absent: &mut Absent) {
        let lanes = completeness.lanes.iter().filter(|lane| self.numbers.has(lane.thread));
        for lane in lanes.filter(|lane| Some(lane.registry) != own) {
            absent.pool += lane.lost.pool;
            absent.reentrant += lane.lost.reentrant;
            absent.unread += lane.lost.sink + lane.missing;
        }
    }
}
