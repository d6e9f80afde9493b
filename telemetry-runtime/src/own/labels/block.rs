//! A block of the label store in memory: the header of an open block, then the packed events.
//!
//! It is made once, is never freed, and only grows, so a reader needs no lock.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use telemetry_format::{BlockType, HEADER_LEN, Header, memory, state};

use crate::sys::atomic::{AtomicU64, Ordering};

/// Length of a block.
pub(crate) const BLOCK: usize = 64 << 10;
/// Length of its payload.
pub(crate) const CAPACITY: usize = BLOCK - memory::HEADER_LEN;

/// An open or sealed block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block(NonNull<Head>);

/// The header before the payload.
#[repr(C, align(64))]
pub(crate) struct Head {
    head: [u8; state::OFFSET],
    state: AtomicU64,
    tail: [u8; HEADER_LEN - state::OFFSET - 8],
    /// The number and the name of the thread: zeros, since there is none.
    thread: [u8; memory::END_TICKS - memory::THREAD_ID],
    end_ticks: AtomicU64,
    rest: [u8; memory::HEADER_LEN - memory::END_TICKS - 8],
}

const _: () = {
    assert!(size_of::<Head>() == memory::HEADER_LEN);
    assert!(core::mem::offset_of!(Head, state) == state::OFFSET);
    assert!(core::mem::offset_of!(Head, end_ticks) == memory::END_TICKS);
};

impl Block {
    /// Makes a block.
    ///
    /// # Safety
    /// `at` must have [`BLOCK`] writable bytes of zeros, aligned to a page. Only the caller may use
    /// them, and they must never be freed.
    pub(crate) unsafe fn open(at: NonNull<u8>, header: &Header) -> Block {
        let bytes = Header { header_len: memory::HEADER_LEN as u16, ..header.clone() }.encode(crc32c::crc32c);
        let behind = state::OFFSET + 8;
        // SAFETY: these bytes are inside the block, around its state.
        unsafe {
            let at = at.as_ptr();
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), at, state::OFFSET);
            core::ptr::copy_nonoverlapping(bytes[behind..].as_ptr(), at.add(behind), HEADER_LEN - behind);
        }
        Block(at.cast())
    }

    /// Makes a block with a payload of this number of events.
    ///
    /// # Safety
    /// As for [`Block::open`].
    pub(crate) unsafe fn copy(at: NonNull<u8>, header: &Header, payload: &[u8], events: u32) -> Block {
        // SAFETY: by the contract of this function.
        let block = unsafe { Block::open(at, header) };
        // SAFETY: no other code knows the block yet.
        let room = unsafe { block.room() };
        room[..payload.len()].copy_from_slice(payload);
        block.head().state.store(state::pack(payload.len() as u32, events), Ordering::Release);
        block
    }

    /// Returns the block of a pointer from [`Block::pointer`].
    ///
    /// # Safety
    /// The pointer must come from [`Block::pointer`].
    pub(crate) unsafe fn from_pointer(pointer: NonNull<Head>) -> Block {
        Block(pointer)
    }

    /// Returns the block's pointer, for an atomic.
    pub(crate) fn pointer(self) -> NonNull<Head> {
        self.0
    }

    /// Returns the header as it was when the block was opened, without events, for the stream.
    pub(crate) fn header(self) -> Header {
        let mut bytes = [0; HEADER_LEN];
        let head = self.head();
        bytes[..state::OFFSET].copy_from_slice(&head.head);
        bytes[state::OFFSET + 8..].copy_from_slice(&head.tail);
        let header = Header::decode(&bytes, crc32c::crc32c);
        let header = header.unwrap_or(Header::new(BlockType::Unknown(0), 0));
        Header { header_len: HEADER_LEN as u16, ..header }
    }

    /// Returns the committed payload length and the number of events.
    ///
    /// The memory may be a file that other processes can write to, so the length is limited to the
    /// capacity.
    pub(crate) fn committed(self) -> (u32, u32) {
        let (len, events) = state::unpack(self.head().state.load(Ordering::Acquire));
        (len.min(CAPACITY as u32), events)
    }

    /// Returns the committed payload bytes in a range.
    pub(crate) fn payload(self, from: u32, to: u32) -> &'static [u8] {
        let (len, _) = self.committed();
        let to = to.min(len);
        let from = from.min(to);
        // SAFETY: committed bytes were written before their length was published. They are never
        // written again and never freed.
        unsafe { core::slice::from_raw_parts(self.byte(from), (to - from) as usize) }
    }

    /// Returns the bytes after the committed ones.
    ///
    /// # Safety
    /// There must be only one caller at a time.
    pub(crate) unsafe fn room<'b>(self) -> &'b mut [u8] {
        let (len, _) = self.committed();
        // SAFETY: inside the block; no thread reads beyond the committed length, and only the
        // caller writes.
        unsafe { core::slice::from_raw_parts_mut(self.byte(len), CAPACITY - len as usize) }
    }

    /// Commits one more event of `bytes` bytes. Returns the state after it.
    pub(crate) fn commit(self, bytes: usize) -> u64 {
        let word = &self.head().state;
        let state = word.load(Ordering::Relaxed).wrapping_add(state::pack(bytes as u32, 1));
        // Release: a thread that sees the length sees the bytes.
        word.store(state, Ordering::Release);
        state
    }

    /// Seals the block, after which nothing is committed.
    pub(crate) fn seal(self, end_ticks: u64) {
        self.head().end_ticks.store(end_ticks.max(1), Ordering::Release);
    }

    /// Returns when the block was sealed. A reader that sees it then also sees all committed
    /// events.
    pub(crate) fn sealed(self) -> Option<u64> {
        match self.head().end_ticks.load(Ordering::Acquire) {
            0 => None,
            ticks => Some(ticks),
        }
    }

    fn head(&self) -> &Head {
        // SAFETY: `open` made it, and all fields that change are atomic.
        unsafe { self.0.as_ref() }
    }

    fn byte(self, offset: u32) -> *mut u8 {
        // SAFETY: offsets are at most the committed length, which is at most the capacity.
        unsafe { self.0.as_ptr().cast::<u8>().add(memory::HEADER_LEN + offset as usize) }
    }
}
