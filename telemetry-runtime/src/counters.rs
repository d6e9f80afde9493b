//! What became of the events, in numbers.

use crate::pool::POOL;
use crate::refill::{STRAY_NESTED, STRAY_POOL};
use crate::sync::{AtomicU64, Ordering};

/// Events that the sink has taken. Only a pass of the drain writes it.
pub(crate) static WRITTEN: AtomicU64 = AtomicU64::new(0);
/// Losses of lanes whose records are gone.
pub(crate) static PAST_POOL: AtomicU64 = AtomicU64::new(0);
pub(crate) static PAST_NESTED: AtomicU64 = AtomicU64::new(0);
pub(crate) static PAST_SINK: AtomicU64 = AtomicU64::new(0);

/// What became of the process's events. After a [`crate::flush`], with no thread emitting, the sum
/// of all four is the number of events that were on when their emitters were called; less, while the
/// sink fails, those in blocks that are not full, which it may take yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Events that the sink has taken.
    pub written: u64,
    /// Events dropped because no memory was free.
    pub lost_pool: u64,
    /// Events dropped because they interrupted an emission of their own thread.
    pub lost_nested: u64,
    /// Events recorded that the sink could not take.
    pub lost_sink: u64,
}

/// The counters now.
pub fn counters() -> Counters {
    let mut sums = Counters {
        written: WRITTEN.load(Ordering::Relaxed),
        lost_pool: PAST_POOL.load(Ordering::Relaxed) + STRAY_POOL.load(Ordering::Relaxed),
        lost_nested: PAST_NESTED.load(Ordering::Relaxed) + STRAY_NESTED.load(Ordering::Relaxed),
        lost_sink: PAST_SINK.load(Ordering::Relaxed),
    };
    for record in POOL.records().iter().filter(|record| record.is_taken()) {
        let lost = record.lost();
        sums.lost_pool += lost.pool;
        sums.lost_nested += lost.nested;
        sums.lost_sink += lost.sink;
    }
    sums
}
