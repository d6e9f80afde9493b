//! A block: its header and packed events in the pool's memory, and the runtime's own data in
//! another place.
//!
//! One thread writes a block while the drain may read what the thread has committed. The header is
//! that of the stream, and its `header_len` also covers the runtime's fields. So the magic numbers
//! alone make a memory image readable. The checksum is that of a block without events. The state
//! word changes with every event and is left out.
//!
//! The pool's memory may be a file that other processes can write to. So it contains no pointers,
//! and the runtime limits what it reads there to the capacity of the block.
#![allow(unsafe_code)]

use core::ptr::{NonNull, null_mut};

use telemetry_format::{HEADER_LEN, Header, memory, state};

use crate::sync::list::Linked;
use crate::sync::pages::CHUNK_PAGES;
use crate::sync::publish::State;
use crate::sys::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, compiler_fence,
};

/// The unit of the pool. A lane opens a block with 1, 4 or 16 pages, and returns the pages that it
/// has not used.
pub(crate) const PAGE: usize = 4096;

/// Number of bytes before the payload: a multiple of the cache line.
pub(crate) const MEMORY_HEADER_LEN: usize = memory::HEADER_LEN;

/// The header in the pool's memory, before the payload.
#[repr(C, align(64))]
pub(crate) struct Head {
    head: [u8; state::OFFSET],
    /// Committed payload length and number of events, see [`state`].
    pub(crate) state: State,
    tail: [u8; HEADER_LEN - state::OFFSET - 8],
    /// The fields described in [`memory`], for readers of memory images.
    thread_id: u64,
    thread_name: [u8; 16],
    end_ticks: AtomicU64,
    spare: [u64; 10],
}

const _: () = assert!(
    MEMORY_HEADER_LEN == size_of::<Head>()
        && core::mem::offset_of!(Head, state) == state::OFFSET
        && core::mem::offset_of!(Head, thread_id) == memory::THREAD_ID
        && core::mem::offset_of!(Head, thread_name) == memory::THREAD_NAME
        && core::mem::offset_of!(Head, end_ticks) == memory::END_TICKS
);

// SAFETY: a lane's thread and the drain share it and synchronize by the atomics. The other fields
// are written before either of them has it.
unsafe impl Sync for Head {}

impl Head {
    /// The head of no block: no events and no room. A constant, so that statics can be made of it.
    #[allow(clippy::declare_interior_mutable_const)]
    pub(crate) const NONE: Head = Head {
        head: [0; _],
        state: State::new(),
        tail: [0; _],
        thread_id: 0,
        thread_name: [0; _],
        end_ticks: AtomicU64::new(0),
        spare: [0; _],
    };

    /// Returns the address of the payload's byte at this offset. Takes a pointer to the whole
    /// block: a reference would only cover the header.
    #[inline(always)]
    pub(crate) fn end(head: *const Head, len: u32) -> *mut u8 {
        head.cast::<u8>().cast_mut().wrapping_add(MEMORY_HEADER_LEN + len as usize)
    }
}

/// The runtime's data about a block, in memory of its own. Each page of the pool has an entry, and
/// a block uses the entry of its first page. All zeros is the entry of a page where no block
/// begins.
pub(crate) struct Block {
    /// The link in the list of sealed blocks, then in a queue of the store.
    next: AtomicPtr<Block>,
    head: AtomicPtr<Head>,
    /// The `LaneRecord` of the lane that opened the block. That file imports this one, hence the
    /// type.
    record: AtomicPtr<()>,
    /// Number of the lane's events before the block, and number of the block in its lane.
    before: AtomicU64,
    seq: AtomicU32,
    pages: AtomicU8,
    /// True while a pass reads the block, which must not go back to the pool. Changed under the
    /// store's lock.
    pub(crate) pinned: AtomicBool,
    /// Number of events that some sink has taken. Only a pass uses it.
    taken: AtomicU16,
    /// Clock reading when the block was opened.
    base_ticks: AtomicU64,
}

// There is an entry for each page of the pool.
const _: () = assert!(usize::BITS < 64 || size_of::<Block>() == 48);
// An event has a code and a time, so `taken` can count all events of the longest block.
const _: () = assert!(capacity(CHUNK_PAGES) / 2 <= u16::MAX as usize);

impl Linked for Block {
    fn next(&self) -> &AtomicPtr<Block> {
        &self.next
    }
}

/// Pages that a lane took from the pool to open a block in.
pub(crate) struct Room {
    pub(crate) block: &'static Block,
    pub(crate) at: *mut u8,
    pub(crate) pages: usize,
}

impl Block {
    /// Makes a block for measurements, in the caller's memory. The drain does not know it.
    ///
    /// # Safety
    /// The memory must be at least a page.
    pub(crate) unsafe fn scratch(head: *mut Head) -> Block {
        // SAFETY: by the contract of this function.
        unsafe { head.write(Head::NONE) };
        Block {
            next: AtomicPtr::new(null_mut()),
            head: AtomicPtr::new(head),
            record: AtomicPtr::new(null_mut()),
            before: AtomicU64::new(0),
            seq: AtomicU32::new(0),
            pages: AtomicU8::new(1),
            pinned: AtomicBool::new(false),
            taken: AtomicU16::new(0),
            base_ticks: AtomicU64::new(0),
        }
    }

    /// Makes a block.
    ///
    /// # Safety
    /// The memory must belong to the pool, and only the caller may use it. The record must outlive
    /// the block.
    pub(super) unsafe fn make(
        room: Room,
        record: NonNull<()>,
        (thread_id, thread_name): (u64, [u8; 16]),
        header: &Header,
    ) -> NonNull<Block> {
        let Room { block, at, pages } = room;
        let at = at.cast::<Head>();
        block.next.store(null_mut(), Ordering::Relaxed);
        block.head.store(at, Ordering::Relaxed);
        block.record.store(record.as_ptr(), Ordering::Relaxed);
        block.before.store(header.before, Ordering::Relaxed);
        block.seq.store(header.seq, Ordering::Relaxed);
        block.pages.store(pages as u8, Ordering::Relaxed);
        block.pinned.store(false, Ordering::Relaxed);
        block.base_ticks.store(header.base_ticks, Ordering::Relaxed);
        block.taken.store(0, Ordering::Relaxed);

        let bytes = Header { header_len: MEMORY_HEADER_LEN as u16, ..header.clone() }.encode(crc32c::crc32c);
        let (head, rest) = bytes.split_at(state::OFFSET);
        let (magic, head) = head.split_at(8);
        let mut new = Head { thread_id, thread_name, ..Head::NONE };
        new.head[8..].copy_from_slice(head);
        new.tail.copy_from_slice(&rest[8..]);
        // SAFETY: by the contract of this function, for the block's own bytes, which are fewer than
        // a page.
        unsafe {
            // The process may be killed in between. A memory image then has the magic number only
            // with a whole header, and never with the committed length of an earlier block.
            at.cast::<u64>().write_volatile(0);
            compiler_fence(Ordering::SeqCst);
            at.write(new);
            compiler_fence(Ordering::SeqCst);
            let magic = u64::from_ne_bytes(*magic.first_chunk().unwrap_or(&[0; 8]));
            at.cast::<u64>().write_volatile(magic);
        }
        NonNull::from(block)
    }

    /// Returns the number of pages.
    pub(crate) fn pages(&self) -> usize {
        usize::from(self.pages.load(Ordering::Relaxed))
    }

    /// Records that the last pages were returned to the pool. The caller has sealed the block.
    pub(crate) fn set_pages(&self, pages: usize) {
        self.pages.store(pages as u8, Ordering::Relaxed);
    }

    /// Returns the record that [`Block::make`] was given.
    pub(super) fn raw_record(&self) -> *mut () {
        self.record.load(Ordering::Relaxed)
    }

    /// Returns the head in the pool's memory.
    pub(crate) fn head(&self) -> *mut Head {
        self.head.load(Ordering::Relaxed)
    }

    fn in_memory(&self) -> &Head {
        // SAFETY: `make` initialized it, in memory that stays mapped while the runtime is in use.
        unsafe { &*self.head() }
    }

    /// Returns the header as it was when the block was opened, without events, for the stream.
    pub(crate) fn header(&self) -> Header {
        let head = self.in_memory();
        let mut bytes = [0; HEADER_LEN];
        bytes[..state::OFFSET].copy_from_slice(&head.head);
        bytes[state::OFFSET + 8..].copy_from_slice(&head.tail);
        let header = Header::decode(&bytes, crc32c::crc32c)
            .unwrap_or(Header::new(telemetry_format::BlockType::Unknown(0), 0));
        Header {
            header_len: HEADER_LEN as u16,
            before: self.before(),
            seq: self.seq(),
            base_ticks: self.base_ticks(),
            ..header
        }
    }

    /// Returns the number of events that some sink has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed).into()
    }

    /// Sets the number of events that some sink has taken. Only a pass does.
    pub(crate) fn set_taken(&self, events: u32) {
        // More events than a block can have come from another process that writes to a ring file.
        self.taken.store(u16::try_from(events).unwrap_or(u16::MAX), Ordering::Relaxed);
    }

    /// Returns the clock reading when the block was opened.
    pub(crate) fn base_ticks(&self) -> u64 {
        self.base_ticks.load(Ordering::Relaxed)
    }

    /// Returns the number of the lane's events before the block.
    pub(crate) fn before(&self) -> u64 {
        self.before.load(Ordering::Relaxed)
    }

    /// Returns the number of the block in its lane.
    pub(crate) fn seq(&self) -> u32 {
        self.seq.load(Ordering::Relaxed)
    }

    /// Returns the clock reading when the block was sealed, or that of its last event.
    pub(crate) fn end_ticks(&self) -> u64 {
        self.in_memory().end_ticks.load(Ordering::Relaxed)
    }

    /// Sets the clock reading when the block was sealed.
    pub(crate) fn set_end_ticks(&self, ticks: u64) {
        self.in_memory().end_ticks.store(ticks, Ordering::Relaxed);
    }

    /// Returns the committed payload length and the number of committed events.
    pub(crate) fn committed(&self) -> (u32, u32) {
        let (len, events) = self.in_memory().state.committed();
        (len.min(self.capacity() as u32), events)
    }

    /// Returns the maximum length of the payload.
    pub(crate) fn capacity(&self) -> usize {
        capacity(self.pages())
    }

    /// Returns a range of committed payload bytes.
    ///
    /// # Safety
    /// `to` must come from [`Block::committed`]. The block must not go back to the pool while the
    /// bytes are in use.
    pub(crate) unsafe fn payload<'a>(&self, from: u32, to: u32) -> &'a [u8] {
        // SAFETY: bytes below the committed length were written before the length was published,
        // and are never written again. The acquiring load of the state made them visible.
        unsafe { core::slice::from_raw_parts(Head::end(self.head(), from), to.saturating_sub(from) as usize) }
    }
}

/// Returns the maximum payload length of a block with this number of pages.
pub(crate) const fn capacity(pages: usize) -> usize {
    (pages * PAGE).saturating_sub(MEMORY_HEADER_LEN)
}

/// Returns the number of pages that a payload of this length needs.
pub(crate) const fn pages_for(len: usize) -> usize {
    (MEMORY_HEADER_LEN + len).div_ceil(PAGE)
}
