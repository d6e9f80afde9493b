//! A block of the label store in memory: the header of a live block, then the packed events.
//!
//! It is made once, stays for good, and only grows, so whoever reads it needs no lock.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use telemetry_format::{BlockType, HEADER_LEN, Header, memory, state};

use crate::sync::{AtomicU64, Ordering};

/// Bytes of a block.
pub(crate) const BLOCK: usize = 64 << 10;
/// Bytes of its payload.
pub(crate) const CAPACITY: usize = BLOCK - memory::HEADER_LEN;

/// A block that was opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block(NonNull<Head>);

/// What stands before the payload.
#[repr(C, align(64))]
pub(crate) struct Head {
    head: [u8; state::OFFSET],
    state: AtomicU64,
    tail: [u8; HEADER_LEN - state::OFFSET - 8],
    /// Id and name of the thread, of which there is none.
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
    /// `at` must have [`BLOCK`] writable bytes of zeros, aligned to a page, that are the caller's alone
    /// and stay for good.
    pub(crate) unsafe fn open(at: NonNull<u8>, header: &Header) -> Block {
        let bytes = Header { header_len: memory::HEADER_LEN as u16, ..header.clone() }.encode(crc32c::crc32c);
        let behind = state::OFFSET + 8;
        // SAFETY: inside the block, around its state.
        unsafe {
            let at = at.as_ptr();
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), at, state::OFFSET);
            core::ptr::copy_nonoverlapping(bytes[behind..].as_ptr(), at.add(behind), HEADER_LEN - behind);
        }
        Block(at.cast())
    }

    /// Makes a block that has a payload of so many events already.
    ///
    /// # Safety
    /// As for [`Block::open`].
    pub(crate) unsafe fn copy(at: NonNull<u8>, header: &Header, payload: &[u8], events: u32) -> Block {
        // SAFETY: the caller's promise.
        let block = unsafe { Block::open(at, header) };
        // SAFETY: nobody else knows the block yet.
        let room = unsafe { block.room() };
        room[..payload.len()].copy_from_slice(payload);
        block.head().state.store(state::pack(payload.len() as u32, events), Ordering::Release);
        block
    }

    /// The block whose pointer [`Block::pointer`] gave.
    ///
    /// # Safety
    /// It must be from there.
    pub(crate) unsafe fn from_pointer(pointer: NonNull<Head>) -> Block {
        Block(pointer)
    }

    /// For an atomic.
    pub(crate) fn pointer(self) -> NonNull<Head> {
        self.0
    }

    /// The header as it was at opening, for the stream: no events yet.
    pub(crate) fn header(self) -> Header {
        let mut bytes = [0; HEADER_LEN];
        let head = self.head();
        bytes[..state::OFFSET].copy_from_slice(&head.head);
        bytes[state::OFFSET + 8..].copy_from_slice(&head.tail);
        let header = Header::decode(&bytes, crc32c::crc32c);
        let header = header.unwrap_or(Header::new(BlockType::Unknown(0), 0));
        Header { header_len: HEADER_LEN as u16, ..header }
    }

    /// Committed payload length and events.
    pub(crate) fn committed(self) -> (u32, u32) {
        state::unpack(self.head().state.load(Ordering::Acquire))
    }

    /// Committed payload bytes of a range.
    pub(crate) fn payload(self, from: u32, to: u32) -> &'static [u8] {
        let (len, _) = self.committed();
        let to = to.min(len);
        let from = from.min(to);
        // SAFETY: committed bytes were written before their length was published, are never written
        // again, and stay for good.
        unsafe { core::slice::from_raw_parts(self.byte(from), (to - from) as usize) }
    }

    /// The bytes behind the committed ones.
    ///
    /// # Safety
    /// Only one caller at a time.
    pub(crate) unsafe fn room<'b>(self) -> &'b mut [u8] {
        let (len, _) = self.committed();
        // SAFETY: inside the block; nobody reads beyond the committed length, and the caller alone writes.
        unsafe { core::slice::from_raw_parts_mut(self.byte(len), CAPACITY - len as usize) }
    }

    /// Commits one more event, of so many bytes. The state after it.
    pub(crate) fn commit(self, bytes: usize) -> u64 {
        let word = &self.head().state;
        let state = word.load(Ordering::Relaxed).wrapping_add(state::pack(bytes as u32, 1));
        // Release: whoever sees the length sees the bytes.
        word.store(state, Ordering::Release);
        state
    }

    /// Ends the block: nothing is committed any more.
    pub(crate) fn seal(self, end_ticks: u64) {
        self.head().end_ticks.store(end_ticks.max(1), Ordering::Release);
    }

    /// When the block was sealed. What is committed once this is seen is all that will be.
    pub(crate) fn sealed(self) -> Option<u64> {
        match self.head().end_ticks.load(Ordering::Acquire) {
            0 => None,
            ticks => Some(ticks),
        }
    }

    fn head(&self) -> &Head {
        // SAFETY: `open` made it; all that changes is atomic.
        unsafe { self.0.as_ref() }
    }

    fn byte(self, offset: u32) -> *mut u8 {
        // SAFETY: offsets are at most the committed length, which is at most the capacity.
        unsafe { self.0.as_ptr().cast::<u8>().add(memory::HEADER_LEN + offset as usize) }
    }
}
