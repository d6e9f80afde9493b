//! A block in memory: the header of the stream, the runtime's own fields, the packed events.
//!
//! One thread writes a block while the drain may read what it has committed. The header is the
//! stream's, with `header_len` reaching over the runtime's fields, so that a memory image is
//! readable by its magic numbers alone. Its checksum is that of a block with no events: the state
//! word changes with every event and is left out.
#![allow(unsafe_code)]

use core::ptr::{NonNull, null_mut};

use telemetry_format::{HEADER_LEN, Header, memory, state};

use crate::list::Linked;
use crate::publish::State;
use crate::record::{LaneRecord, Owner};
use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, Ordering, compiler_fence};

/// The unit of the pool. A block has 1, 4 or 16 of them.
pub(crate) const PAGE: usize = 4096;

/// Bytes before the payload: a multiple of the cache line.
pub(crate) const MEMORY_HEADER_LEN: usize = memory::HEADER_LEN;

#[repr(C, align(64))]
pub(crate) struct Block {
    head: [u8; state::OFFSET],
    /// Committed payload length and events, see [`state`].
    pub(crate) state: State,
    tail: [u8; HEADER_LEN - state::OFFSET - 8],
    /// As in [`memory`], for whoever finds the block in an image.
    thread_id: u64,
    thread_name: [u8; 16],
    pub(crate) end_ticks: AtomicU64,
    /// In the list of sealed blocks, then in a queue of the store.
    pub(crate) next: AtomicPtr<Block>,
    /// Of the lane that opened the block.
    record: *const LaneRecord,
    /// Events that some sink has taken. Only a pass uses it.
    pub(crate) taken: AtomicU64,
    /// A pass reads the block: it may not go back to the pool. Changed under the store's lock.
    pub(crate) pinned: AtomicBool,
    pages: usize,
}

const _: () = assert!(
    MEMORY_HEADER_LEN == size_of::<Block>()
        && core::mem::offset_of!(Block, state) == state::OFFSET
        && core::mem::offset_of!(Block, thread_id) == memory::THREAD_ID
        && core::mem::offset_of!(Block, thread_name) == memory::THREAD_NAME
        && core::mem::offset_of!(Block, end_ticks) == memory::END_TICKS
);

impl Linked for Block {
    fn next(&self) -> &AtomicPtr<Block> {
        &self.next
    }
}

// SAFETY: shared between a lane's thread and the drain, which agree by the atomics; the rest is
// written before either has it.
unsafe impl Sync for Block {}

impl Block {
    /// Not a block: no pages, no room. To make a static of, hence a constant with atomics.
    #[allow(clippy::declare_interior_mutable_const)]
    pub(crate) const NONE: Block = Block::new([0; _], [0; _], core::ptr::null(), 0, [0; _], 0);

    const fn new(
        head: [u8; state::OFFSET],
        tail: [u8; HEADER_LEN - state::OFFSET - 8],
        record: *const LaneRecord,
        thread_id: u64,
        thread_name: [u8; 16],
        pages: usize,
    ) -> Block {
        Block {
            head,
            state: State::new(),
            tail,
            thread_id,
            thread_name,
            end_ticks: AtomicU64::new(0),
            next: AtomicPtr::new(null_mut()),
            record,
            taken: AtomicU64::new(0),
            pinned: AtomicBool::new(false),
            pages,
        }
    }

    /// Makes a block of `pages` pages at `at`.
    ///
    /// # Safety
    /// The memory must be writable, aligned to a page, `pages` long and the caller's alone; and the
    /// record must outlive the block.
    pub(crate) unsafe fn open(
        at: *mut u8,
        pages: usize,
        record: &LaneRecord,
        owner: &Owner,
        header: &Header,
    ) -> NonNull<Block> {
        let bytes = Header { header_len: MEMORY_HEADER_LEN as u16, ..header.clone() }.encode(crc32c::crc32c);
        let (head, rest) = bytes.split_at(state::OFFSET);
        let head = head.try_into().unwrap_or_default();
        let tail = rest[8..].try_into().unwrap_or([0; _]);
        let block = Block::new(head, tail, record, owner.thread_id, owner.thread_name, pages);
        let at = at.cast::<Block>();
        // SAFETY: the caller's promise covers the block's own bytes, which are fewer than a page.
        unsafe {
            // First, for whoever finds the memory of a process that was killed in between: a new header never
            // stands with what an earlier block had committed.
            (&raw mut (*at).state).write(State::new());
            compiler_fence(Ordering::SeqCst);
            at.write(block);
            NonNull::new_unchecked(at)
        }
    }

    /// Number of pages.
    pub(crate) fn pages(&self) -> usize {
        self.pages
    }

    /// The lane that opened the block.
    pub(crate) fn record(&self) -> &'static LaneRecord {
        // SAFETY: promised to `open`; and the pool, which all records are in, is never unmapped while
        // the runtime is in use.
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

    /// Clock reading when the block was opened.
    pub(crate) fn base_ticks(&self) -> u64 {
        // Behind the words `state`, `session`, `registry`, `thread`, `seq`, `offset` and `unpacked_len`.
        let at = 56 - state::OFFSET - 8;
        self.tail[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
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
        unsafe { core::slice::from_raw_parts(Block::end(block.as_ptr(), from), (to - from) as usize) }
    }

    /// Where the payload's byte of this offset is. By a pointer to the whole block: a reference to it would reach
    /// over its header only.
    #[inline(always)]
    pub(crate) fn end(block: *const Block, len: u32) -> *mut u8 {
        block.cast::<u8>().cast_mut().wrapping_add(MEMORY_HEADER_LEN + len as usize)
    }
}

/// Payload bytes of a block of so many pages.
pub(crate) const fn capacity(pages: usize) -> usize {
    (pages * PAGE).saturating_sub(MEMORY_HEADER_LEN)
}
