//! What the drain knows of a lane: a record that outlives the thread until its last word is out.

use core::ptr::{NonNull, null_mut};

use telemetry_format::Loss;

use crate::block::Block;
use crate::registry::Registry;
use crate::sync::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Nobody's.
const FREE: u8 = 0;
/// Taken, not yet filled in.
const CLAIMED: u8 = 1;
/// Of a running lane.
const LIVE: u8 = 2;
/// Of a thread that ended: the drain frees it once all is told.
const CLOSED: u8 = 3;

/// One lane's entry in the pool's table. All zeros is a free one.
#[repr(C, align(64))]
pub(crate) struct LaneRecord {
    status: AtomicU8,
    kind: AtomicU8,
    thread: AtomicU32,
    registry: AtomicPtr<Registry>,
    thread_id: AtomicU64,
    thread_name: [AtomicU64; 2],
    /// The block being written, for the drain to take parts of.
    pub(crate) open: AtomicPtr<Block>,
    /// Number of the next block.
    pub(crate) seq: AtomicU32,
    /// Events in blocks that are sealed.
    pub(crate) recorded: AtomicU64,
    /// Counters of [`Loss`]: the first two and the last by the lane's thread, `sink` by the drain.
    pub(crate) pool: AtomicU64,
    pub(crate) nested: AtomicU64,
    pub(crate) cut: AtomicU64,
    pub(crate) sink: AtomicU64,
    /// Sum of the counters that the stream has been told. Only the drain uses it.
    pub(crate) told: AtomicU64,
}

const _: () = assert!(size_of::<LaneRecord>() == 128);

/// What never changes in a lane's life.
#[derive(Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) registry: &'static Registry,
    pub(crate) kind: u8,
    pub(crate) thread: u32,
    pub(crate) thread_id: u64,
    pub(crate) thread_name: [u8; 16],
}

impl LaneRecord {
    /// Takes the record for a lane if it is free.
    pub(crate) fn claim(&self, owner: &Owner) -> bool {
        if self.status.load(Ordering::Relaxed) != FREE
            || self.status.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return false;
        }
        let [low, high] = [0, 8].map(|at| {
            let mut half = [0; 8];
            half.copy_from_slice(&owner.thread_name[at..at + 8]);
            u64::from_ne_bytes(half)
        });
        self.kind.store(owner.kind, Ordering::Relaxed);
        self.thread.store(owner.thread, Ordering::Relaxed);
        self.registry.store(core::ptr::from_ref(owner.registry).cast_mut(), Ordering::Relaxed);
        self.thread_id.store(owner.thread_id, Ordering::Relaxed);
        self.thread_name[0].store(low, Ordering::Relaxed);
        self.thread_name[1].store(high, Ordering::Relaxed);
        self.open.store(null_mut(), Ordering::Relaxed);
        self.seq.store(0, Ordering::Relaxed);
        for counter in [&self.recorded, &self.pool, &self.nested, &self.cut, &self.sink, &self.told] {
            counter.store(0, Ordering::Relaxed);
        }
        self.status.store(LIVE, Ordering::Release);
        true
    }

    /// Says that a block that was handed over is no longer open, if the lane has not said so yet.
    pub(crate) fn close_block(&self, block: NonNull<Block>) {
        let _ = self.open.compare_exchange(block.as_ptr(), null_mut(), Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Says that the lane's thread has ended. Its last block is sealed before.
    pub(crate) fn close(&self) {
        self.status.store(CLOSED, Ordering::Release);
    }

    /// Gives a closed record back.
    pub(crate) fn free(&self) {
        self.status.store(FREE, Ordering::Release);
    }

    /// True from `claim` to `free`; what the owner stored is visible then.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self.status.load(Ordering::Acquire), LIVE | CLOSED)
    }

    /// True between `close` and `free`.
    pub(crate) fn is_closed(&self) -> bool {
        self.status.load(Ordering::Acquire) == CLOSED
    }

    /// Whose lane this is. Only of a taken record.
    #[allow(unsafe_code)]
    pub(crate) fn owner(&self) -> Owner {
        let mut thread_name = [0; 16];
        thread_name[..8].copy_from_slice(&self.thread_name[0].load(Ordering::Relaxed).to_ne_bytes());
        thread_name[8..].copy_from_slice(&self.thread_name[1].load(Ordering::Relaxed).to_ne_bytes());
        Owner {
            // SAFETY: `claim` stored a static reference before the record became taken.
            registry: unsafe { &*self.registry.load(Ordering::Relaxed) },
            kind: self.kind.load(Ordering::Relaxed),
            thread: self.thread.load(Ordering::Relaxed),
            thread_id: self.thread_id.load(Ordering::Relaxed),
            thread_name,
        }
    }

    /// The lane's losses so far.
    pub(crate) fn lost(&self) -> Loss {
        Loss {
            pool: self.pool.load(Ordering::Relaxed),
            nested: self.nested.load(Ordering::Relaxed),
            sink: self.sink.load(Ordering::Relaxed),
            cut: self.cut.load(Ordering::Relaxed),
        }
    }
}

/// Counts one more. Only one thread writes the counter, so no read-modify-write is needed.
pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}
