//! The drain's record of a lane. It outlives the lane's thread until all that it says is written.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use telemetry_format::{Header, LaneIdentity, Loss};

use crate::memory::account::Account;
use crate::memory::block::{Block, Room};
use crate::memory::registry::Registry;
use crate::sync::open::Open;
use crate::sync::status::Status;
use crate::sync::turn::Turn;
use crate::sys::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// The entry of one lane in a table. All zeros is a free entry.
#[repr(C, align(64))]
pub(crate) struct LaneRecord {
    status: Status,
    kind: AtomicU8,
    thread: AtomicU32,
    registry: AtomicPtr<Registry>,
    thread_id: AtomicU64,
    thread_name: [AtomicU64; 2],
    account: AtomicPtr<Account>,
    /// The `Lane` of the room `emit`, where the drain can stop the lane, or null if it cannot. Only
    /// `revoke` uses it, under its lock.
    pub(crate) lane: AtomicPtr<()>,
    /// The block that the lane writes to now. The drain takes parts of it.
    pub(crate) open: Open<Block>,
    /// Number of the next block.
    pub(crate) seq: AtomicU32,
    /// Which blocks of the lane are sealed.
    pub(crate) turn: Turn,
    /// Number of blocks that are open, or not back in the pool yet.
    pub(crate) blocks: AtomicU32,
    /// The index of this record.
    index: AtomicU32,
    /// Number of events before the lane's open block. Only the lane uses it.
    pub(crate) before: AtomicU64,
    /// Number of events at the time when the drain last checked whether the lane is quiet.
    pub(crate) seen: AtomicU64,
    /// Number of events that were overwritten before a sink could take them.
    pub(crate) overwritten: AtomicU64,
}

const _: () = assert!(size_of::<LaneRecord>() == 128);

/// The properties of a lane that never change.
#[derive(Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) registry: &'static Registry,
    pub(crate) kind: u8,
    pub(crate) thread: u32,
    pub(crate) thread_id: u64,
    pub(crate) thread_name: [u8; 16],
}

impl LaneRecord {
    /// Claims the record and its account for a lane of a session. Returns false if the record is
    /// not free.
    pub(crate) fn claim(&self, index: u32, owner: &Owner, account: &'static Account, session: u64) -> bool {
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
        self.account.store(core::ptr::from_ref(account).cast_mut(), Ordering::Relaxed);
        self.lane.store(core::ptr::null_mut(), Ordering::Relaxed);
        self.index.store(index, Ordering::Relaxed);
        self.turn.clear();
        self.open.clear();
        for number in [&self.seq, &self.blocks] {
            number.store(0, Ordering::Relaxed);
        }
        for counter in [&self.before, &self.seen, &self.overwritten] {
            counter.store(0, Ordering::Relaxed);
        }
        account.begin(&LaneIdentity {
            session,
            registry: owner.registry.def().fingerprint,
            kind: owner.kind,
            thread: owner.thread,
            index,
            thread_id: owner.thread_id,
            thread_name: owner.thread_name,
        });
        self.status.live();
        true
    }

    /// Records that the lane's thread has ended and has sealed its last block.
    pub(crate) fn close(&self) {
        self.status.close();
    }

    /// Frees a closed record.
    pub(crate) fn free(&self) {
        self.status.free();
    }

    /// Returns true from `claim` to `free`. What the owner stored is then visible.
    pub(crate) fn is_taken(&self) -> bool {
        self.status.is_taken()
    }

    /// Returns true between `close` and `free`.
    pub(crate) fn is_closed(&self) -> bool {
        self.status.is_closed()
    }

    /// Returns the owner of the lane. The record must be taken.
    pub(crate) fn owner(&self) -> Owner {
        let mut thread_name = [0; 16];
        thread_name[..8].copy_from_slice(&self.thread_name[0].load(Ordering::Relaxed).to_ne_bytes());
        thread_name[8..].copy_from_slice(&self.thread_name[1].load(Ordering::Relaxed).to_ne_bytes());
        Owner {
            // SAFETY: `claim` stored a static reference before the record was taken.
            registry: unsafe { &*self.registry.load(Ordering::Relaxed) },
            kind: self.kind.load(Ordering::Relaxed),
            thread: self.thread.load(Ordering::Relaxed),
            thread_id: self.thread_id.load(Ordering::Relaxed),
            thread_name,
        }
    }

    /// Returns the index of this record. The record must be taken.
    pub(crate) fn index(&self) -> u32 {
        self.index.load(Ordering::Relaxed)
    }

    /// Returns the lane's account, which a post-mortem reads, too. The record must be taken.
    pub(crate) fn account(&self) -> &'static Account {
        // SAFETY: `claim` stored a static reference before the record was taken.
        unsafe { &*self.account.load(Ordering::Relaxed) }
    }

    /// Counts the events of a block that is being sealed. `recorded` is the lane's count at the end
    /// of the block.
    ///
    /// Release: a thread that sees the count sees that the block of these events was opened.
    pub(crate) fn count_sealed(&self, recorded: u64) {
        self.account().recorded.fetch_max(recorded, Ordering::Release);
    }

    /// Returns the lane's losses so far, except those that each sink counts for itself.
    pub(crate) fn lost(&self) -> Loss {
        let account = self.account();
        Loss {
            pool: account.pool.load(Ordering::Relaxed),
            reentrant: account.reentrant.load(Ordering::Relaxed),
            sink: 0,
            truncated: account.truncated.load(Ordering::Relaxed),
        }
    }
}

impl Block {
    /// Makes a block.
    ///
    /// # Safety
    /// The memory must belong to the pool, and only the caller may use it. The record must outlive
    /// the block.
    pub(crate) unsafe fn open(
        room: Room,
        record: &LaneRecord,
        owner: &Owner,
        header: &Header,
    ) -> NonNull<Block> {
        let thread = (owner.thread_id, owner.thread_name);
        // SAFETY: by the contract of this function.
        unsafe { Block::make(room, NonNull::from(record).cast(), thread, header) }
    }

    /// Returns the record of the lane that opened the block.
    pub(crate) fn record(&self) -> &'static LaneRecord {
        // SAFETY: only `open` makes blocks of lanes, and its record outlives the block. The table
        // that contains the record stays mapped while the runtime is in use.
        unsafe { &*self.raw_record().cast() }
    }
}
