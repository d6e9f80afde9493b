//! A queue without a limit, in which room is reserved before it is needed.
//!
//! Entries are adjacent in chunks, so that ten million of them take little more than their own
//! size. A chunk is freed once all its entries are read.
//!
//! ```text
//! first ──▶ chunk ──▶ chunk (write) ──▶ chunk (last)
//!              ^ read       ^ written      room for what is reserved
//! ```
#![allow(unsafe_code)]

use core::mem::{align_of, size_of};
use core::ptr::{NonNull, null_mut};

use super::memory::{self, PAGE};
use crate::model::posted::Posted;

pub(super) struct Fifo<T> {
    /// The chunk with the oldest entry.
    first: *mut Chunk,
    /// The chunk of the next entry, unless that chunk is full.
    write: *mut Chunk,
    last: *mut Chunk,
    /// Number of entries that were read from `first`, and written to `write`.
    read: usize,
    written: usize,
    /// Number of free entries after the written ones, and how many of them are reserved.
    room: usize,
    reserved: usize,
    len: usize,
    entries: core::marker::PhantomData<T>,
}

/// The head of a chunk, before its entries.
struct Chunk {
    next: *mut Chunk,
    bytes: usize,
    capacity: usize,
}

/// Maximum length of a chunk of small entries.
const MAX_QUEUE_LEN: usize = 1 << 20;
/// Minimum number of entries in a chunk.
const MIN_CAPACITY: usize = 8;

impl<T: Copy> Fifo<T> {
    /// The offset of the first entry in a chunk.
    const START: usize = size_of::<Chunk>().next_multiple_of(align_of::<Posted<T>>());

    /// Creates an empty queue without memory.
    pub(super) const fn new() -> Self {
        const { assert!(align_of::<T>() <= 64, "chunks are aligned to pages") };
        let none = null_mut();
        Fifo {
            first: none,
            write: none,
            last: none,
            read: 0,
            written: 0,
            room: 0,
            reserved: 0,
            len: 0,
            entries: core::marker::PhantomData,
        }
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Reserves room for one more entry. Returns false if there is no memory.
    pub(super) fn reserve(&mut self) -> bool {
        if self.room == self.reserved && !self.grow() {
            return false;
        }
        self.reserved += 1;
        true
    }

    /// Releases room for one entry.
    pub(super) fn unreserve(&mut self) {
        self.reserved = self.reserved.saturating_sub(1);
    }

    /// Adds an entry in reserved room. Returns false, and adds nothing, if no room is reserved.
    pub(super) fn push(&mut self, entry: Posted<T>) -> bool {
        if self.reserved == 0 {
            return false;
        }
        // SAFETY: reserved room is in this chunk or in a later one, and chunks point to the next
        // one until they are freed.
        unsafe {
            if self.written == (*self.write).capacity {
                self.write = (*self.write).next;
                self.written = 0;
            }
            Self::at(self.write, self.written).write(entry);
        }
        self.written += 1;
        self.room -= 1;
        self.reserved -= 1;
        self.len += 1;
        true
    }

    /// Returns when the oldest entry was posted.
    pub(super) fn oldest(&self) -> Option<u64> {
        // SAFETY: as in `pop`.
        (self.len > 0).then(|| Posted::ticks(unsafe { &*Self::at(self.first, self.read) }))
    }

    /// Removes the oldest entry and returns it.
    pub(super) fn pop(&mut self) -> Option<Posted<T>> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: this entry was written and not yet read. The first chunk has such an entry, since
        // it is freed with its last one.
        let entry = unsafe { Self::at(self.first, self.read).read() };
        self.read += 1;
        self.len -= 1;
        if self.len == 0 {
            // Use the chunk that was written last from its beginning again.
            self.room += self.written;
            (self.read, self.written) = (0, 0);
        // SAFETY: as above.
        } else if self.read == unsafe { (*self.first).capacity } {
            let chunk = self.first;
            // SAFETY: there are more entries, so there is a chunk after it, and nothing else points
            // to this one.
            unsafe {
                self.first = (*chunk).next;
                Self::give(chunk);
            }
            self.read = 0;
        }
        Some(entry)
    }

    /// Frees all memory.
    pub(super) fn clear(&mut self) {
        let mut chunk = self.first;
        while !chunk.is_null() {
            // SAFETY: the queue owns the chunk, and forgets it below.
            unsafe {
                let next = (*chunk).next;
                Self::give(chunk);
                chunk = next;
            }
        }
        *self = Fifo::new();
    }

    /// Forgets all entries, because they belong to another process, which was changing them.
    pub(super) fn forget(&mut self) {
        *self = Fifo::new();
    }

    /// Adds a chunk at the end. It has a quarter of the present entries, so that little of it stays
    /// unused.
    fn grow(&mut self) -> bool {
        let size = size_of::<Posted<T>>();
        let wanted = ((self.len + self.reserved) / 4).saturating_mul(size).min(MAX_QUEUE_LEN);
        let bytes = (Self::START + wanted.max(MIN_CAPACITY * size)).next_multiple_of(PAGE);
        let Some(at) = memory::take(bytes) else { return false };
        let (chunk, capacity) = (at.as_ptr().cast::<Chunk>(), (bytes - Self::START) / size);
        // SAFETY: the memory is new, has this length, and is aligned to a page. The queue owns the
        // last chunk.
        unsafe {
            chunk.write(Chunk { next: null_mut(), bytes, capacity });
            if self.last.is_null() {
                (self.first, self.write) = (chunk, chunk);
            } else {
                (*self.last).next = chunk;
            }
        }
        self.last = chunk;
        self.room += capacity;
        true
    }

    /// Returns the address of an entry in a chunk.
    ///
    /// # Safety
    /// The queue must own the chunk, which must have more than `index` entries.
    unsafe fn at(chunk: *mut Chunk, index: usize) -> *mut Posted<T> {
        // SAFETY: by the contract of this function, the address is inside the chunk's memory.
        unsafe { chunk.cast::<u8>().add(Self::START).cast::<Posted<T>>().add(index) }
    }

    /// Frees a chunk.
    ///
    /// # Safety
    /// Nothing may point to it any more.
    unsafe fn give(chunk: *mut Chunk) {
        // SAFETY: by the contract of this function, and `take` returned the memory of the chunk.
        unsafe {
            let bytes = (*chunk).bytes;
            memory::give(NonNull::new_unchecked(chunk.cast()), bytes);
        }
    }
}
