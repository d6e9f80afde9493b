//! What belongs to one capture: ranges of threads' lanes, and the blocks of these threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use telemetry_runtime::__private::testing::Numbers;

use super::positions::Positions;

/// The part of a thread's events that belongs to a capture.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) numbers: &'static Numbers,
    /// Where it begins. Empty for a thread that began in the capture.
    pub(super) begin: Positions,
    pub(super) end: End,
}

/// Where a range ends.
#[derive(Debug)]
pub(super) enum End {
    /// With its thread.
    OfThread,
    /// Not yet.
    Open,
    /// Here.
    At(Positions),
}

/// One capture while it runs.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub(super) ranges: Mutex<Vec<Range>>,
    /// Whole blocks, in the order of each lane.
    pub(super) blocks: Mutex<Vec<u8>>,
}

impl Recording {
    /// Returns true if the capture has a range of this thread.
    pub(super) fn has(&self, thread: u32) -> bool {
        lock(&self.ranges).iter().any(|range| range.numbers.has(thread))
    }

    /// Adds a block.
    pub(super) fn add_block(&self, bytes: &[&[u8]]) {
        let mut blocks = lock(&self.blocks);
        bytes.iter().for_each(|bytes| blocks.extend_from_slice(bytes));
    }

    /// Begins a range. Returns its index, for [`Recording::close`].
    pub(super) fn open(&self, numbers: &'static Numbers, end: End) -> usize {
        let mut ranges = lock(&self.ranges);
        ranges.push(Range { numbers, begin: Positions::default(), end });
        ranges.len() - 1
    }

    /// Ends a range of the calling thread.
    pub(super) fn close(&self, range: usize, begin: Positions, end: Positions) {
        if let Some(range) = lock(&self.ranges).get_mut(range) {
            (range.begin, range.end) = (begin, End::At(end));
        }
    }
}

/// Takes a lock, also after a panic: what it protects is changed in one step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
