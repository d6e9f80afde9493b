//! The begins and the ends that wait to be fetched, each in the order of their times.

use super::fifo::Fifo;

/// The data that the lock protects.
pub(super) struct Queues<B, E> {
    pub(super) begins: Fifo<B>,
    pub(super) ends: Fifo<E>,
    /// The time of the last message that was posted.
    last: u64,
    /// True if some slots may be bare.
    pub(super) is_short: bool,
}

impl<B: Copy, E: Copy> Queues<B, E> {
    /// Creates empty queues without memory.
    pub(super) const fn new() -> Queues<B, E> {
        Queues { begins: Fifo::new(), ends: Fifo::new(), last: 0, is_short: false }
    }

    /// Returns the time of the next message. It is later than the previous one, so that times give
    /// the order of the two queues.
    pub(super) fn next(&mut self, ticks: u64) -> u64 {
        self.last = ticks.max(self.last.wrapping_add(1));
        self.last
    }

    /// Reserves room for a pair, or for a begin alone.
    pub(super) fn reserve(&mut self, is_pair: bool) -> bool {
        let begin = self.begins.reserve();
        if begin && is_pair && !self.ends.reserve() {
            self.begins.unreserve();
            return false;
        }
        begin
    }
}
