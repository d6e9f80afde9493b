//! Extents: runs of events that can be decoded alone, in lanes.
//!
//! Time is nearly, but not always, in order within a capability, and after damage it can be
//! anything. The extents of a lane must be in order, so a capability has further lanes for extents
//! that are not.

use telemetry_decode::foreign::{Extent, LogLane, Survey};

use super::block::Block;
use super::walk::{Kind, Open, Walk};
use crate::ghc::types::Frame;

/// The size at which an extent ends if time does not go back there, and the size at which it ends
/// in any case.
const EXTENT: u64 = 64 << 10;
const LONGEST: u64 = 512 << 10;
/// An extent ends after a pause of this length, if there is one. An event with an earlier time is
/// seldom that much earlier.
const QUIET_NS: u64 = 100_000;

impl Walk<'_> {
    /// Adds an event to the open extent.
    #[inline(always)]
    pub(super) fn take(&mut self, frame: &Frame, at: u64) {
        let thread = self.block.thread;
        let len = frame.len as u64;
        let fits = self.open.as_ref().is_some_and(|open| {
            open.thread == thread
                && (open.len < EXTENT
                    || open.len + len <= LONGEST
                        && (frame.time < open.latest
                            || open.len < 2 * EXTENT && frame.time - open.latest < QUIET_NS))
        });
        if !fits {
            self.close();
            self.open = Some(Open { thread, at, len: 0, events: 0, first: frame.time, latest: frame.time });
        }
        if let Some(open) = &mut self.open {
            open.len += len;
            open.events += 1;
            open.first = open.first.min(frame.time);
            open.latest = open.latest.max(frame.time);
        }
        if let Some(count) = self.survey.counts[self.log].get_mut(usize::from(frame.entry.event)) {
            *count += 1;
        }
    }

    /// Takes an event at the time that it tells of, which may be long before those around it.
    #[cold]
    pub(super) fn take_told(&mut self, frame: &Frame, at: u64) {
        self.close();
        self.told_left -= 1;
        self.take(frame, at);
        self.close_as(Kind::Told);
    }

    /// Ends the open extent.
    pub(super) fn close(&mut self) {
        self.close_as(Kind::Events);
    }

    fn close_as(&mut self, kind: Kind) {
        let Some(open) = self.open.take() else { return };
        let Open { thread, at, len, events, first, latest } = open;
        let Some(lane) = self.lane(thread, first, latest) else {
            let why = Survey::full_of_lanes(self.survey.lanes.len()).unwrap_or_default();
            return self.damage(at..at + len, || format!("{events} events whose times go back: {why}"));
        };
        let note = self.note(kind);
        self.survey.extents.push(Extent::new(lane, at..at + len, events, first).with_note(note));
    }

    /// Returns the lane for an extent with these times: the thread's lane that ends last before it,
    /// or a new one. `None` if there are too many.
    pub(super) fn lane(&mut self, thread: u32, first: u64, latest: u64) -> Option<u32> {
        let lanes = self.lanes.entry((self.session, thread)).or_default();
        let found = lanes.range(..=(first, u32::MAX)).next_back().map(|(key, ())| *key);
        let lane = match found {
            Some(key) => {
                lanes.remove(&key);
                key.1
            }
            // A log whose times go back repeatedly has a lane for each extent.
            None if Survey::full_of_lanes(self.survey.lanes.len()).is_some() => return None,
            None => {
                let lane = self.survey.lanes.len() as u32;
                self.survey.lanes.push(LogLane::new(self.session, thread));
                let name = if thread == Block::NONE.thread {
                    "no capability".to_string()
                } else {
                    format!("capability {}", thread - 1)
                };
                let session = &mut self.survey.sessions[self.session];
                let mut facts = session.threads().get(&thread).cloned().unwrap_or_default();
                facts.set("name", name);
                session.set_thread(thread, facts);
                lane
            }
        };
        lanes.insert((latest, lane), ());
        Some(lane)
    }
}
