//! An event of a traceback, before it is decoded.

use super::blocks::Place;
use crate::memory::registry::Registry;

/// An event that the first pass over the blocks found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// Its time, in ticks.
    pub(super) time: u64,
    pub(super) thread: u32,
    pub(super) thread_name: [u8; 16],
    pub(super) registry: Option<&'static Registry>,
    /// The index of its kind.
    pub(super) kind: usize,
    /// True if the kind inherits its times from events of other kinds, which come first.
    pub(super) inherits: bool,
    /// Its block, and the number of events before it in that block.
    pub(super) place: Option<Place>,
    pub(super) index: u32,
}

impl Found {
    pub(super) const NONE: Found = Found {
        time: 0,
        thread: 0,
        thread_name: [0; 16],
        registry: None,
        kind: 0,
        inherits: false,
        place: None,
        index: 0,
    };

    /// Returns a key that sorts events as readers of streams do. The events of a lane keep their
    /// own order.
    pub(super) fn key(&self) -> impl Ord {
        (self.time, self.thread, self.inherits, self.kind)
    }
}
