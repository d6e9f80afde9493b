//! What the pool's memory is used for.

use crate::memory::block::PAGE;
use crate::memory::lanes::LANES;
use crate::memory::pool::POOL;
use crate::memory::registry;
use crate::own::labels;
use crate::store::sealed::STORE;

/// Bytes of the pool by their use. The sum is the size of the pool, unless blocks move meanwhile.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolUsage {
    pub(crate) size: usize,
    pub(crate) free: usize,
    /// Blocks that lanes write to.
    pub(crate) open: usize,
    /// Sealed blocks that sinks have not taken yet.
    pub(crate) waiting: usize,
    /// Sealed blocks that the flight recorder retains.
    pub(crate) retained: usize,
    /// Lanes of running threads, and of ended ones whose last block is in memory.
    pub(crate) lanes: usize,
    /// Labels, which are beside the pool.
    pub(crate) labels: usize,
}

/// Returns what the pool is used for now. Takes the sorter's lock for a moment.
pub(crate) fn pool_usage() -> PoolUsage {
    let size = POOL.bytes();
    let open = STORE.open_pages().unwrap_or(0) * PAGE;
    let retained = registry::kinds().map(|kind| kind.kept.pages() * PAGE).sum();
    let free = (POOL.free_pages() * PAGE).min(size);
    PoolUsage {
        size,
        free,
        open,
        // Blocks that are in a list, in a queue, or in a pass.
        waiting: size.saturating_sub(free + open + retained),
        retained,
        lanes: LANES.taken().count(),
        labels: labels::bytes(),
    }
}
