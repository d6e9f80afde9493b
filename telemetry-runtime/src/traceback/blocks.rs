//! The blocks that stand in the pool's memory, found by their magic, read while others write.
//!
//! Needs no list and no lock: every block begins at a page, with a header that has a checksum. A
//! block may be recycled while it is read, so it is copied first, and believed only if its header is the
//! same afterwards and no younger block stands inside of it. Blocks that have been given back stay
//! readable until something is written over them.
#![allow(unsafe_code)]

use telemetry_format::{BlockType, HEADER_LEN, Header, MAGIC, memory, state};

use crate::block::PAGE;
use crate::pages::CHUNK_PAGES;
use crate::pool::POOL;
use crate::start;
use crate::sync::{Ordering, fence};

/// Bytes of the largest block, which is a whole chunk of the pool.
pub(crate) const CHUNK: usize = CHUNK_PAGES * PAGE;

/// Where a header has its session.
const SESSION: usize = 24;

/// An events block of the running session as it was when it was looked at.
pub(crate) struct Seen {
    /// Where it is in the pool.
    at: usize,
    /// Committed length and events are in it; flags, end and the payload's checksum are not.
    pub(crate) header: Header,
    /// Clock reading when the block was sealed; none while it is open.
    pub(crate) sealed: Option<u64>,
    /// The system's name of the thread, NUL-padded, and its number.
    pub(crate) thread_name: [u8; 16],
    pub(crate) thread_id: u64,
    /// The header's checksum, which covers lane and number: no other block has it.
    check: u32,
}

/// What finds a block again, if it is still there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    at: usize,
    check: u32,
}

/// Looks at all blocks, in no order.
pub(crate) fn each(mut f: impl FnMut(&Seen)) {
    for chunk in (0..POOL.memory().len()).step_by(CHUNK) {
        // The first block of a chunk begins at its first page, and something of a header always stays
        // there. Pages that were never used are not touched.
        if word(chunk + SESSION) != 0 {
            (chunk..chunk + CHUNK).step_by(PAGE).filter_map(look).for_each(|block| f(&block));
        }
    }
}

/// The block at a page of the pool, if there is one.
fn look(at: usize) -> Option<Seen> {
    if word(at) != u64::from_ne_bytes(MAGIC) {
        return None;
    }
    // Before the rest: the committed bytes are then seen as they were written.
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
        && header.session == start::session()
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
    /// The block that was seen there, if it is still there.
    pub(crate) fn find(self) -> Option<Seen> {
        look(self.at).filter(|block| block.check == self.check)
    }
}

impl Seen {
    /// Where it is.
    pub(crate) fn place(&self) -> Place {
        Place { at: self.at, check: self.check }
    }

    /// Copies the payload. None if the block is gone, or was partly written over.
    pub(crate) fn payload<'b>(&self, into: &'b mut [u8; CHUNK]) -> Option<&'b [u8]> {
        let start = self.at + memory::HEADER_LEN;
        let end = start + self.header.payload_len as usize;
        let into = into.get_mut(..end - start)?;
        copy(start, into);
        // The copy is made before the block is looked at again.
        fence(Ordering::Acquire);
        let is_there =
            self.place().find().is_some_and(|now| now.header.payload_len >= self.header.payload_len);
        let mut inside = (self.at + PAGE..end).step_by(PAGE);
        (is_there && !inside.any(|page| look(page).is_some())).then_some(into)
    }
}

/// The word at a place in the pool, and with it what was written before it was stored there.
fn word(at: usize) -> u64 {
    // Not the type of `sync`, which is another one in models.
    type Word = core::sync::atomic::AtomicU64;
    let memory = POOL.memory();
    match at.checked_add(8) {
        // SAFETY: inside the pool's mapping, which stays, and at a multiple of 8, as all fields are.
        Some(end) if end <= memory.len() => unsafe {
            (*memory.cast::<u8>().add(at).cast::<Word>()).load(Ordering::Acquire)
        },
        _ => 0,
    }
}

/// Copies from a multiple of 8 in the pool what others may be writing; zeros from beyond its end.
fn copy(at: usize, into: &mut [u8]) {
    let memory = POOL.memory();
    if at.checked_add(into.len()).is_none_or(|end| end > memory.len()) {
        return into.fill(0);
    }
    // SAFETY: the range is inside the pool's mapping, which stays. Volatile, since other threads may write
    // there: every byte is read once, and who uses the copy checks first that nobody has.
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
