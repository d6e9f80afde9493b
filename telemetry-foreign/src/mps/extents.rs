//! Divides the events of a log into extents and lanes, so that they can be read by time with little
//! memory.
//!
//! An extent is a run of whole batches, in whatever order their events are. The next extent of its
//! lane must be entirely later. A batch is, except for events of a kind that was output late: those
//! that its buffer had kept come after later ones. Such events begin another lane. So do events
//! after damage in the middle of a batch, and those of a log without any order.

use telemetry_decode::foreign::{Extent, LogLane, Survey};

/// An extent with this number of bytes ends at the end of its batch.
const ENOUGH: u32 = 32 << 10;

/// The maximum length of an extent, except for one event. A batch of the MPS has at most 28,696
/// bytes.
const MOST: u32 = 128 << 10;

/// The number of latest lanes that are searched for one that can continue.
const LOOKED_AT: usize = 16;

/// Divides events into extents and lanes.
#[derive(Default)]
pub(super) struct Cutter {
    pub(super) lanes: Vec<LogLane>,
    /// For each lane, the latest clock reading of extents that have ended.
    latest: Vec<Option<u64>>,
    pub(super) extents: Vec<Extent>,
    session: usize,
    /// The first lane of the session.
    first_lane: usize,
    open: Option<Open>,
    /// The lane of the last extent.
    current: Option<usize>,
}

struct Open {
    extent: Extent,
    latest: u64,
    /// The time that its events must be later than.
    floor: Option<u64>,
}

impl Cutter {
    /// Takes an event of this length at an offset. Returns why it cannot if it needs another lane
    /// than the log can have.
    #[inline]
    pub(super) fn event(&mut self, at: u64, len: u32, ticks: u64) -> Result<(), String> {
        if let Some(Open { extent, latest, floor }) = &mut self.open
            && extent.at + u64::from(extent.len) == at
            && extent.len < MOST
            && floor.is_none_or(|floor| ticks > floor)
        {
            extent.len += len;
            extent.events += 1;
            extent.first_ticks = extent.first_ticks.min(ticks);
            *latest = (*latest).max(ticks);
            return Ok(());
        }
        self.open(at, len, ticks)
    }

    /// Notes that the batch ends.
    #[inline]
    pub(super) fn batch_end(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.extent.len >= ENOUGH) {
            self.close();
        }
    }

    /// Begins another session, whose events follow.
    pub(super) fn session(&mut self, session: usize) {
        self.close();
        (self.session, self.first_lane, self.current) = (session, self.lanes.len(), None);
    }

    /// Ends the extent that is open.
    pub(super) fn close(&mut self) {
        if let Some(Open { extent, latest, .. }) = self.open.take() {
            let of_lane = &mut self.latest[extent.lane as usize];
            *of_lane = (*of_lane).max(Some(latest));
            self.extents.push(extent);
        }
    }

    /// Discards everything from an offset on.
    pub(super) fn undo(&mut self, from: u64) {
        self.open = None;
        self.extents.retain(|extent| extent.at < from);
    }

    #[cold]
    fn open(&mut self, at: u64, len: u32, ticks: u64) -> Result<(), String> {
        self.close();
        let can_go_on = |lane: &usize| self.latest[*lane].is_none_or(|latest| latest < ticks);
        let first = self.first_lane.max(self.lanes.len().saturating_sub(LOOKED_AT));
        let lane = self.current.filter(can_go_on).or_else(|| (first..self.lanes.len()).rev().find(can_go_on));
        let lane = match lane {
            Some(lane) => lane,
            None => match Survey::full_of_lanes(self.lanes.len()) {
                Some(why) => return Err(why),
                None => {
                    self.lanes.push(LogLane::new(self.session, 1));
                    self.latest.push(None);
                    self.lanes.len() - 1
                }
            },
        };
        self.current = Some(lane);
        let extent = Extent::new(lane as u32, at..at + u64::from(len), 1, ticks);
        self.open = Some(Open { extent, latest: ticks, floor: self.latest[lane] });
        Ok(())
    }
}
