//! Where the lanes of a thread are at a moment.

use telemetry_runtime::__private::testing::{LanePosition, each_position};

/// Room for lanes that come into use while a list is made or a closure runs. Beyond it a list
/// allocates.
const SPARE: usize = 64;

/// The positions of a thread's lanes.
///
/// The memory is taken in advance: the program's allocator may be what the test is about, and it
/// may emit.
#[derive(Debug, Default)]
pub(super) struct Positions(Vec<LanePosition>);

impl Positions {
    /// Makes an empty list with room for the lanes of this thread.
    pub(super) fn with_room() -> Positions {
        let mut lanes = 0;
        each_position(|_| lanes += 1);
        Positions(Vec::with_capacity(lanes + SPARE))
    }

    /// Sets the positions to those of now. Does not allocate while there is room.
    pub(super) fn set(&mut self) {
        self.0.clear();
        each_position(|lane| self.0.push(lane));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LanePosition> {
        self.0.iter()
    }

    /// Returns the position of a lane, if it has recorded anything.
    pub(super) fn of(&self, thread: u32, registry: u64, kind: u8) -> Option<&LanePosition> {
        self.0.iter().find(|lane| (lane.thread, lane.registry, lane.kind) == (thread, registry, kind))
    }
}
