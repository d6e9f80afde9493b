//! What a pass takes from memory: a sealed block, or the committed events of an open one.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use telemetry_format::Header;

use crate::memory::block::Block;
use crate::memory::record::{LaneRecord, Owner};
use crate::run::clock;
use crate::store::sealed::{self as store, Untaken};
use crate::sys::atomic::Ordering;

/// A sealed block, or the committed events of an open one, on the way out.
pub(crate) struct Source {
    pub(crate) block: NonNull<Block>,
    /// True if the block is sealed, so that a sink which does not take it loses it.
    pub(crate) sealed: bool,
    /// True if no event is added to the block any more.
    pub(crate) is_last: bool,
    pub(crate) record: &'static LaneRecord,
    pub(crate) owner: Owner,
    /// The header as it was when the block was opened.
    pub(crate) header: Header,
    pub(crate) len: u32,
    pub(crate) events: u32,
    pub(crate) end_ticks: u64,
    /// Number of the lane's events that were overwritten before.
    pub(crate) overwritten: u64,
    /// A copy of the bytes, if the block may be gone.
    copy: Option<Box<[u8]>>,
}

impl Source {
    /// Reads the current state of a block. The caller owns the block, or has pinned it.
    pub(crate) fn of(block: NonNull<Block>, sealed: bool) -> Source {
        // SAFETY: the caller owns the block, or has pinned it.
        let inside = unsafe { block.as_ref() };
        let (len, events) = inside.committed();
        // After the state is read, so that no event is later.
        let end_ticks = if sealed { inside.end_ticks() } else { clock::ticks_after_loads() };
        let record = inside.record();
        Source {
            block,
            sealed,
            is_last: sealed,
            record,
            owner: record.owner(),
            header: inside.header(),
            len,
            events,
            end_ticks,
            overwritten: record.overwritten.load(Ordering::Relaxed),
            copy: None,
        }
    }

    /// Reads an open block whose lane is stopped. The caller has pinned it.
    pub(crate) fn of_stopped(block: NonNull<Block>) -> Source {
        Source { is_last: true, ..Source::of(block, false) }
    }

    /// Copies the bytes, so that the block may be unpinned. Returns false if there is no memory.
    pub(crate) fn keep(&mut self) -> bool {
        let mut copy = Vec::new();
        if copy.try_reserve_exact(self.len as usize).is_err() {
            return false;
        }
        copy.extend_from_slice(self.payload(0));
        self.copy = Some(copy.into_boxed_slice());
        true
    }

    /// Returns the number of the lane's events up to the last one here.
    pub(crate) fn end(&self) -> u64 {
        self.header.before + u64::from(self.events)
    }

    /// Records that some sink was given all of it.
    pub(crate) fn take(&self) {
        // SAFETY: as in `of`.
        let block = unsafe { self.block.as_ref() };
        let before = block.taken();
        if u64::from(self.events) > before {
            block.set_taken(self.events);
            let kind = self.owner.registry.kind(self.owner.kind);
            kind.written.fetch_add(u64::from(self.events) - before, Ordering::Relaxed);
        }
    }

    /// Records that the only sink has lost some of the events that it took.
    pub(crate) fn take_back(&self, events: u32) {
        if events == 0 {
            return;
        }
        // SAFETY: as in `of`.
        let block = unsafe { self.block.as_ref() };
        let taken = block.taken();
        let left = taken.saturating_sub(events.into());
        block.set_taken(left as u32);
        let kind = self.owner.registry.kind(self.owner.kind);
        kind.written.fetch_sub(taken - left, Ordering::Relaxed);
    }

    /// Counts where a block's events went, and returns the block to the pool. The caller owns the
    /// block.
    pub(crate) fn settle(&self, wanted: bool) {
        store::settle(self.block, if wanted { Untaken::Lost } else { Untaken::Evicted });
    }

    /// Returns the bytes from an offset on.
    pub(crate) fn payload(&self, from: u32) -> &[u8] {
        if let Some(copy) = &self.copy {
            return &copy[from as usize..];
        }
        // SAFETY: the length comes from the block's state, and is at least that of any earlier
        // source of the block. The bytes are used while the pass has the block.
        unsafe { self.block.as_ref().payload(from, self.len) }
    }
}

#[cfg(test)]
impl Source {
    /// Makes the source of a sealed block with these bytes. The block is one without a lane.
    pub(crate) fn made(record: &'static LaneRecord, header: Header, events: u32, bytes: &[u8]) -> Source {
        Source {
            block: crate::memory::tests::block(),
            sealed: true,
            is_last: true,
            record,
            owner: record.owner(),
            len: bytes.len() as u32,
            events,
            end_ticks: header.base_ticks + 90,
            overwritten: record.overwritten.load(Ordering::Relaxed),
            copy: Some(bytes.into()),
            header,
        }
    }
}

#[cfg(test)]
mod tests {
    use telemetry_format::BlockType;

    use super::*;
    use crate::memory::tests::{ACCESS, record, registry};

    /// Several sinks take a block, in parts, and one of them loses what it took.
    #[test]
    fn an_event_counts_once_as_written() {
        let registry = registry();
        let header = Header { before: 100, ..Header::new(BlockType::Events, 1) };
        let mut source = Source::made(record(registry, ACCESS), header, 0, b"bytes");
        let mut check = |events: u32, work: fn(&Source), expected: u64| {
            source.events = events;
            work(&source);
            // SAFETY: the block is never freed.
            let taken = unsafe { source.block.as_ref() }.taken();
            let written = registry.kind(ACCESS).written.load(Ordering::Relaxed);
            assert_eq!((taken, written), (expected, expected), "{events}");
            assert_eq!(source.end(), 100 + u64::from(events));
        };
        check(3, Source::take, 3);
        check(3, Source::take, 3);
        check(5, Source::take, 5);
        check(4, Source::take, 5);
        check(5, |source| source.take_back(0), 5);
        check(5, |source| source.take_back(2), 3);
        check(5, Source::take, 5);
        check(6, |source| source.take_back(9), 0);
        assert!(source.keep());
        assert_eq!((source.payload(0), source.payload(2)), (&b"bytes"[..], &b"tes"[..]));
    }
}
