//! Extents: runs of events that can be decoded alone, in lanes.
//!
//! Time is nearly, but not always, in order inside of a capability, and after damage it can be anything. The extents of
//! a lane must be in order, so a capability has further lanes for extents that are not.

use telemetry_decode::{Extent, LogLane};

use super::Walk;
use super::block::Block;
use crate::ghc::types::Frame;

/// Bytes at which an extent ends where time does not go back, and where it ends if it does.
const EXTENT: u64 = 64 << 10;
const LONGEST: u64 = 512 << 10;
/// An extent ends where nothing happened for so long, if there is such a place: what is stamped with an earlier time is
/// seldom stamped with one that is this much earlier.
const QUIET_NS: u64 = 100_000;

/// An extent that is being made.
#[derive(Clone, Copy)]
pub(super) struct Open {
    thread: u32,
    at: u64,
    len: u64,
    events: u32,
    first: u64,
    latest: u64,
}

impl Walk<'_> {
    /// Adds an event to the extent that is being made.
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

    /// Ends the extent that is being made.
    pub(super) fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let Open { thread, at, len, events, first, latest } = open;
        let lane = self.lane(thread, first, latest);
        let note = self.note(false);
        self.survey.extents.push(Extent { lane, at, len: len as u32, events, first_ticks: first, note });
    }

    /// The lane of an extent of these times: of the thread's lanes that end before it the one that ends last, or a new
    /// one.
    pub(super) fn lane(&mut self, thread: u32, first: u64, latest: u64) -> u32 {
        let lanes = self.lanes.entry((self.session, thread)).or_default();
        let found = lanes.range(..=(first, u32::MAX)).next_back().map(|(key, ())| *key);
        let lane = match found {
            Some(key) => {
                lanes.remove(&key);
                key.1
            }
            None => {
                let lane = self.survey.lanes.len() as u32;
                self.survey.lanes.push(LogLane { session: self.session, thread });
                let name = if thread == Block::NONE.thread {
                    "no capability".to_string()
                } else {
                    format!("capability {}", thread - 1)
                };
                let facts = self.survey.sessions[self.session].threads.entry(thread).or_default();
                facts.set("name", name);
                lane
            }
        };
        lanes.insert((latest, lane), ());
        lane
    }
}
