//! The word with which a lane publishes what it has written to its block.

use telemetry_format::state;

use crate::sys::atomic::{AtomicU64, Ordering, constant};

/// Committed payload length and number of events, see [`state`]. Only one thread writes it.
#[repr(transparent)]
pub(crate) struct State(AtomicU64);

impl State {
    constant! {
        /// Creates a word that says that nothing is committed.
        pub(crate) fn new() -> State {
            State(AtomicU64::new(0))
        }
    }

    /// Commits what was written up to `state`. Release: a thread that sees the length sees the
    /// bytes.
    #[inline(always)]
    pub(crate) fn publish(&self, state: u64) {
        self.0.store(state, Ordering::Release);
    }

    /// Returns the committed payload length and the number of committed events.
    pub(crate) fn committed(&self) -> (u32, u32) {
        state::unpack(self.0.load(Ordering::Acquire))
    }
}
