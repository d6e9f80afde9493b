//! The word that publishes what a lane has written of its block.

use telemetry_format::state;

use crate::sync::{AtomicU64, Ordering, constant};

/// Committed payload length and number of events, see [`state`]. One thread writes it.
#[repr(transparent)]
pub(crate) struct State(AtomicU64);

impl State {
    constant! {
        /// Nothing committed.
        pub(crate) fn new() -> State {
            State(AtomicU64::new(0))
        }
    }

    /// The word, for the thread that writes it.
    #[inline(always)]
    pub(crate) fn own(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Commits what was written up to a state. Release: whoever sees the length sees the bytes.
    #[inline(always)]
    pub(crate) fn publish(&self, state: u64) {
        self.0.store(state, Ordering::Release);
    }

    /// Committed payload length and events.
    pub(crate) fn committed(&self) -> (u32, u32) {
        state::unpack(self.0.load(Ordering::Acquire))
    }
}
