//! What the drain knows of a lane: a record that outlives the thread until its last word is out.
#![allow(unsafe_code)]

use telemetry_format::Loss;

use crate::block::Block;
use crate::open::Open;
use crate::registry::Registry;
use crate::status::Status;
use crate::store::STORE;
use crate::sync::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// One lane's entry in the pool's table. All zeros is a free one.
#[repr(C, align(64))]
pub(crate) struct LaneRecord {
    status: Status,
    kind: AtomicU8,
    thread: AtomicU32,
    registry: AtomicPtr<Registry>,
    thread_id: AtomicU64,
    thread_name: [AtomicU64; 2],
    /// The block being written, for the drain to take parts of.
    pub(crate) open: Open<Block>,
    /// Number of the next block.
    pub(crate) seq: AtomicU32,
    /// Blocks that are open, or not back in the pool yet.
    pub(crate) blocks: AtomicU32,
    /// Events in blocks that are sealed.
    pub(crate) recorded: AtomicU64,
    /// Counters of [`Loss`], by the lane's thread.
    pub(crate) pool: AtomicU64,
    pub(crate) nested: AtomicU64,
    pub(crate) cut: AtomicU64,
    /// Events recorded for a sink that none has taken, those overwritten among them.
    pub(crate) sink: AtomicU64,
    /// Events overwritten before a sink could take them.
    pub(crate) overwritten: AtomicU64,
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
        if !self.status.claim() {
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
        self.open.clear();
        self.seq.store(0, Ordering::Relaxed);
        self.blocks.store(0, Ordering::Relaxed);
        for counter in [&self.recorded, &self.pool, &self.nested, &self.cut, &self.sink, &self.overwritten] {
            counter.store(0, Ordering::Relaxed);
        }
        self.status.live();
        true
    }

    /// Says that the lane's thread has ended. Its last block is sealed before.
    pub(crate) fn close(&self) {
        self.status.close();
    }

    /// Gives a closed record back.
    pub(crate) fn free(&self) {
        self.status.free();
    }

    /// True from `claim` to `free`; what the owner stored is visible then.
    pub(crate) fn is_taken(&self) -> bool {
        self.status.is_taken()
    }

    /// True between `close` and `free`.
    pub(crate) fn is_closed(&self) -> bool {
        self.status.is_closed()
    }

    /// Whose lane this is. Only of a taken record.
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

    /// The lane's losses so far, but for those that each sink counts for itself.
    pub(crate) fn lost(&self) -> Loss {
        Loss {
            pool: self.pool.load(Ordering::Relaxed),
            nested: self.nested.load(Ordering::Relaxed),
            sink: 0,
            cut: self.cut.load(Ordering::Relaxed),
        }
    }

    /// Events recorded so far: those of sealed blocks, and what is committed in the open one. The latter counts
    /// from what was there when it was opened, so that one which is being sealed is not counted twice.
    pub(crate) fn events(&self) -> u64 {
        let open = self.open.get().and_then(|_| STORE.committed(self));
        // Acquire, and behind the look for an open block: one that has ended is among those that are sealed.
        open.unwrap_or_else(|| self.recorded.load(Ordering::Acquire))
    }
}

/// Adds to a counter. Only one thread writes the counter, so no read-modify-write is needed. Release: who sees
/// the number sees that the block of these events was opened.
pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Release);
}
