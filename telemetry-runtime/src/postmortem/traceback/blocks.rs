//! Finds the blocks in the pool's memory by their magic numbers, and reads them while other threads
//! write.
//!
//! Needs no list and no lock: every block begins at a page, with a header that has a checksum. A
//! block may be evicted while it is read, so it is copied first. The copy is valid only if the
//! header is the same afterwards and there is no younger block inside. Blocks that were returned to
//! the pool stay readable until other data overwrites them.
#![allow(unsafe_code)]

use telemetry_format::{BlockType, HEADER_LEN, Header, MAGIC, memory, state};

use crate::memory::block::PAGE;
use crate::memory::pool::POOL;
use crate::run::state as run_state;
use crate::sync::pages::CHUNK_PAGES;
use crate::sys::atomic::{Ordering, fence};

/// Length of the largest block, which is a whole chunk of the pool.
pub(crate) const CHUNK: usize = CHUNK_PAGES * PAGE;

/// The offset of the session in a header.
const SESSION: usize = 24;

/// An events block of the running session, as it was when it was read.
pub(crate) struct Seen {
    /// Its offset in the pool.
    at: usize,
    /// Includes the committed length and the number of events, but not flags, end and the payload's
    /// checksum.
    pub(crate) header: Header,
    /// Clock reading when the block was sealed, or `None` while it is open.
    pub(crate) sealed: Option<u64>,
    /// The system's name of the thread, padded with NUL, and its number.
    pub(crate) thread_name: [u8; 16],
    pub(crate) thread_id: u64,
    /// The header's checksum, which covers lane and number. No other block has the same one.
    check: u32,
}

/// Finds a block again, if it is still there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    at: usize,
    check: u32,
}

/// Calls `f` with each block, in no particular order.
pub(crate) fn each(mut f: impl FnMut(&Seen)) {
    for chunk in (0..POOL.memory().len()).step_by(CHUNK) {
        // The first block of a chunk begins at its first page, and part of a header always stays
        // there. Pages that were never used are not touched.
        if word(chunk + SESSION) != 0 {
            (chunk..chunk + CHUNK).step_by(PAGE).filter_map(look).for_each(|block| f(&block));
        }
    }
}

/// Reads the block at a page of the pool, if there is one.
fn look(at: usize) -> Option<Seen> {
    if word(at) != u64::from_ne_bytes(MAGIC) {
        return None;
    }
    // Before the rest, so that the committed bytes are seen as they were written.
    let before = word(at + state::OFFSET);
    let mut bytes = [0; HEADER_LEN];
    copy(at, &mut bytes);
    fence(Ordering::Acquire);
    // A state that went back is that of another block.
    let (payload_len, events) =
        Some(before).filter(|before| *before <= word(at + state::OFFSET)).map(state::unpack)?;
    // In memory the checksum is that of a block without events.
    bytes[state::OFFSET..state::OFFSET + 8].fill(0);
    let header = Header::decode(&bytes, crc32c::crc32c).ok()?;
    let room = (CHUNK - at % CHUNK).checked_sub(memory::HEADER_LEN)?;
    let is_ours = header.block_type == BlockType::Events
        && usize::from(header.header_len) == memory::HEADER_LEN
        && header.session == run_state::session()
        && payload_len as usize <= room;
    let sealed = Some(word(at + memory::END_TICKS)).filter(|ticks| *ticks != 0);
    let mut thread_name = [0; 16];
    copy(at + memory::THREAD_NAME, &mut thread_name);
    let check = u32::from_le_bytes(*bytes.last_chunk()?);
    is_ours.then_some(Seen {
        at,
        header: Header {
            header_len: HEADER_LEN as u16,
            payload_len,
            unpacked_len: payload_len,
            events,
            ..header
        },
        sealed,
        thread_name,
        thread_id: word(at + memory::THREAD_ID),
        check,
    })
}

impl Place {
    /// Returns the block that was seen there, if it is still there.
    pub(crate) fn find(self) -> Option<Seen> {
        look(self.at).filter(|block| block.check == self.check)
    }
}

impl Seen {
    /// Returns the place of the block.
    pub(crate) fn place(&self) -> Place {
        Place { at: self.at, check: self.check }
    }

    /// Copies the payload. Returns `None` if the block is gone or was partly overwritten.
    pub(crate) fn payload<'b>(&self, into: &'b mut [u8; CHUNK]) -> Option<&'b [u8]> {
        let start = self.at + memory::HEADER_LEN;
        let end = start + self.header.payload_len as usize;
        let into = into.get_mut(..end - start)?;
        copy(start, into);
        // The copy is made before the block is read again.
        fence(Ordering::Acquire);
        let is_there =
            self.place().find().is_some_and(|now| now.header.payload_len >= self.header.payload_len);
        let mut inside = (self.at + PAGE..end).step_by(PAGE);
        (is_there && !inside.any(|page| look(page).is_some())).then_some(into)
    }
}

/// Reads a word of the pool. Acquire: what was written before the word is visible.
fn word(at: usize) -> u64 {
    // Not the type in `sync`, which differs in models.
    type Word = core::sync::atomic::AtomicU64;
    let memory = POOL.memory();
    match at.checked_add(8) {
        // SAFETY: inside the pool's mapping, which stays, and at a multiple of 8, as all fields
        // are.
        Some(end) if end <= memory.len() => unsafe {
            (*memory.cast::<u8>().add(at).cast::<Word>()).load(Ordering::Acquire)
        },
        _ => 0,
    }
}

/// Copies from the pool, from a multiple of 8, while other threads may write. Bytes beyond its end
/// are zeros.
fn copy(at: usize, into: &mut [u8]) {
    let memory = POOL.memory();
    if at.checked_add(into.len()).is_none_or(|end| end > memory.len()) {
        return into.fill(0);
    }
    // SAFETY: the range is inside the pool's mapping, which stays. The reads are volatile, since
    // other threads may write there. Every byte is read once, and the user of the copy first checks
    // that none has changed.
    unsafe {
        let from = memory.cast::<u8>().add(at);
        let whole = into.len() / 8;
        let (words, rest) = into.as_chunks_mut::<8>();
        for (index, word) in words.iter_mut().enumerate() {
            *word = from.cast::<u64>().add(index).read_volatile().to_ne_bytes();
        }
        for (index, byte) in rest.iter_mut().enumerate() {
            *byte = from.add(whole * 8 + index).read_volatile();
        }
    }
}
