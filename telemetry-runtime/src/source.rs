//! What a pass takes from memory: a sealed block, or what is committed of an open one.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use telemetry_format::Header;

use crate::block::Block;
use crate::record::{LaneRecord, Owner};
use crate::sync::Ordering;
use crate::{clock, store};

/// A block, or what is committed of an open one, on its way out.
pub(crate) struct Source {
    pub(crate) block: NonNull<Block>,
    pub(crate) sealed: bool,
    pub(crate) record: &'static LaneRecord,
    pub(crate) owner: Owner,
    /// As it was at opening.
    pub(crate) header: Header,
    pub(crate) len: u32,
    pub(crate) events: u32,
    pub(crate) end_ticks: u64,
}

impl Source {
    /// What a block has now. The caller has the block, or has it pinned.
    pub(crate) fn of(block: NonNull<Block>, sealed: bool) -> Source {
        // SAFETY: as the caller promises.
        let inside = unsafe { block.as_ref() };
        let (len, events) = inside.state.committed();
        // After the state: no event is later.
        let end_ticks =
            if sealed { inside.end_ticks.load(Ordering::Relaxed) } else { clock::ticks_after_loads() };
        let record = inside.record();
        Source {
            block,
            sealed,
            record,
            owner: record.owner(),
            header: inside.header(),
            len,
            events,
            end_ticks,
        }
    }

    /// Events of the lane up to its last one.
    pub(crate) fn end(&self) -> u64 {
        self.header.before + u64::from(self.events)
    }

    /// Takes note that some sink has been given all of it.
    pub(crate) fn take(&self) {
        // SAFETY: as in `of`.
        let taken = unsafe { &self.block.as_ref().taken };
        let before = taken.load(Ordering::Relaxed);
        if u64::from(self.events) > before {
            taken.store(u64::from(self.events), Ordering::Relaxed);
            let kind = self.owner.registry.kind(self.owner.kind);
            kind.written.fetch_add(u64::from(self.events) - before, Ordering::Relaxed);
        }
    }

    /// Counts what no sink has taken of a block that goes back to the pool.
    pub(crate) fn settle(&self, wanted: bool) {
        // SAFETY: as in `of`.
        let rest = store::untaken(unsafe { self.block.as_ref() });
        if wanted {
            self.record.sink.fetch_add(rest, Ordering::Relaxed);
        } else {
            self.owner.registry.kind(self.owner.kind).recycled.fetch_add(rest, Ordering::Relaxed);
        }
    }

    /// The bytes from a length on.
    pub(crate) fn payload(&self, from: u32) -> &'static [u8] {
        // SAFETY: the length comes from the block's state, which is at least that of any earlier source of the
        // block; and the bytes are used while the pass has the block.
        unsafe { Block::committed(self.block, from, self.len) }
    }
}
