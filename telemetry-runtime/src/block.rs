//! A block in memory: the header of the stream, the runtime's own fields, the packed events.
//!
//! One thread writes a block while the drain may read what it has committed. The header is the
//! stream's, with `header_len` reaching over the runtime's fields, so that a memory image is
//! readable by its magic numbers alone. Its checksum is that of a block with no events: the state
//! word changes with every event and is left out.
#![allow(unsafe_code)]

use core::ptr::{NonNull, null_mut};

use telemetry_format::{HEADER_LEN, Header, state};

use crate::record::LaneRecord;
use crate::sync::{AtomicPtr, AtomicU64, Ordering};

/// The unit of the pool. A block has 1, 4 or 16 of them.
pub(crate) const PAGE: usize = 4096;

/// Bytes before the payload: a multiple of the cache line.
pub(crate) const MEMORY_HEADER_LEN: usize = size_of::<Block>();

#[repr(C, align(64))]
pub(crate) struct Block {
    head: [u8; state::OFFSET],
    /// Committed payload length and events, see [`state`].
    pub(crate) state: AtomicU64,
    tail: [u8; HEADER_LEN - state::OFFSET - 8],
    /// In the list of sealed blocks.
    pub(crate) next: AtomicPtr<Block>,
    /// Of the lane that opened the block.
    record: *const LaneRecord,
    /// Clock reading when the block was sealed.
    pub(crate) end_ticks: AtomicU64,
    /// What the drain has already taken of the state. Only the drain uses it.
    pub(crate) taken: AtomicU64,
    pages: usize,
}

const _: () = assert!(MEMORY_HEADER_LEN == 192 && core::mem::offset_of!(Block, state) == state::OFFSET);

// SAFETY: shared between a lane's thread and the drain, which agree by the atomics; the rest is
// written before either has it.
unsafe impl Sync for Block {}

impl Block {
    /// Not a block: no pages, no room. To make a static of, hence a constant with atomics.
    #[allow(clippy::declare_interior_mutable_const)]
    pub(crate) const NONE: Block = Block {
        head: [0; _],
        state: AtomicU64::new(0),
        tail: [0; _],
        next: AtomicPtr::new(null_mut()),
        record: core::ptr::null(),
        end_ticks: AtomicU64::new(0),
        taken: AtomicU64::new(0),
        pages: 0,
    };

    /// Makes a block of `pages` pages at `at`.
    ///
    /// # Safety
    /// The memory must be writable, aligned to a page, `pages` long and the caller's alone; and the
    /// record must outlive the block.
    pub(crate) unsafe fn open(
        at: *mut u8,
        pages: usize,
        record: *const LaneRecord,
        header: &Header,
    ) -> NonNull<Block> {
        let bytes = Header { header_len: MEMORY_HEADER_LEN as u16, ..header.clone() }.encode(crc32c::crc32c);
        let (head, rest) = bytes.split_at(state::OFFSET);
        let block = Block {
            head: head.try_into().unwrap_or_default(),
            state: AtomicU64::new(0),
            tail: rest[8..].try_into().unwrap_or([0; _]),
            next: AtomicPtr::new(null_mut()),
            record,
            end_ticks: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            pages,
        };
        let at = at.cast::<Block>();
        // SAFETY: the caller's promise covers the block's own bytes, which are fewer than a page.
        unsafe {
            at.write(block);
            NonNull::new_unchecked(at)
        }
    }

    /// Number of pages.
    pub(crate) fn pages(&self) -> usize {
        self.pages
    }

    /// The lane that opened the block.
    pub(crate) fn record(&self) -> &LaneRecord {
        // SAFETY: promised to `open`.
        unsafe { &*self.record }
    }

    /// The header as it was at opening, for the stream: no events yet.
    pub(crate) fn header(&self) -> Header {
        let mut bytes = [0; HEADER_LEN];
        bytes[..state::OFFSET].copy_from_slice(&self.head);
        bytes[state::OFFSET + 8..].copy_from_slice(&self.tail);
        let mut header = Header::decode(&bytes, crc32c::crc32c)
            .unwrap_or(Header::new(telemetry_format::BlockType::Unknown(0), 0));
        header.header_len = HEADER_LEN as u16;
        header
    }

    /// How long the payload may become.
    pub(crate) fn capacity(&self) -> usize {
        capacity(self.pages)
    }

    /// The payload bytes of a range that was committed.
    ///
    /// # Safety
    /// `to` must come from the block's state, and the block must not go back to the pool while the
    /// bytes are in use.
    pub(crate) unsafe fn committed<'a>(block: NonNull<Block>, from: u32, to: u32) -> &'a [u8] {
        // SAFETY: bytes below the committed length were written before it was published and are
        // never written again; the acquiring load of the state made them visible.
        unsafe { core::slice::from_raw_parts(block.as_ref().end(from), (to - from) as usize) }
    }

    /// Where the payload's byte of this offset is. Only below the capacity.
    #[inline(always)]
    pub(crate) fn end(&self, len: u32) -> *mut u8 {
        let start = core::ptr::from_ref(self).cast::<u8>().cast_mut();
        // SAFETY: the payload follows the block's own bytes, and the caller keeps to its capacity.
        unsafe { start.add(MEMORY_HEADER_LEN + len as usize) }
    }

    /// Commits what was written up to a state.
    #[inline(always)]
    pub(crate) fn publish(&self, state: u64) {
        // Release: whoever sees the length sees the bytes.
        self.state.store(state, Ordering::Release);
    }

    /// Committed payload length and events.
    pub(crate) fn committed_state(&self) -> (u32, u32) {
        state::unpack(self.state.load(Ordering::Acquire))
    }
}

/// Payload bytes of a block of so many pages.
pub(crate) const fn capacity(pages: usize) -> usize {
    (pages * PAGE).saturating_sub(MEMORY_HEADER_LEN)
}
