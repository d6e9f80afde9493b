//! A queue without a limit whose room is reserved before it is needed.
//!
//! Entries stand one behind the other in chunks, so that ten million of them take little more than their own size. A
//! chunk that has been read is given back.
//!
//! ```text
//! first ──▶ chunk ──▶ chunk (write) ──▶ chunk (last)
//!              ^ read       ^ written      room for what is reserved
//! ```
#![allow(unsafe_code)]

use core::mem::{align_of, size_of};
use core::ptr::{NonNull, null_mut};

use super::memory::{self, PAGE};
use super::posted::Posted;

pub(super) struct Fifo<T> {
    /// Where the oldest entry is.
    first: *mut Chunk,
    /// Where the next one will be, unless the chunk is full.
    write: *mut Chunk,
    last: *mut Chunk,
    /// Entries read of `first`, and written of `write`.
    read: usize,
    written: usize,
    /// Free entries behind what is written, of which so many are reserved.
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

/// Most bytes of a chunk of small entries.
const MOST: usize = 1 << 20;
/// Fewest entries of a chunk.
const LEAST: usize = 8;

impl<T: Copy> Fifo<T> {
    /// Where the entries of a chunk begin.
    const START: usize = size_of::<Chunk>().next_multiple_of(align_of::<Posted<T>>());

    /// Empty, and without memory.
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

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Sets room for one more entry aside. False if there is no memory.
    pub(super) fn reserve(&mut self) -> bool {
        if self.room == self.reserved && !self.grow() {
            return false;
        }
        self.reserved += 1;
        true
    }

    /// Room that is set aside is not needed.
    pub(super) fn unreserve(&mut self) {
        self.reserved = self.reserved.saturating_sub(1);
    }

    /// Adds an entry, in room that was set aside. False, and nothing is added, if there is none.
    pub(super) fn push(&mut self, entry: Posted<T>) -> bool {
        if self.reserved == 0 {
            return false;
        }
        // SAFETY: what is reserved is there, in this chunk or in one behind it, which chunks point to until they
        // are given back.
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

    /// When the oldest entry was posted.
    pub(super) fn oldest(&self) -> Option<u64> {
        // SAFETY: as of `pop`.
        (self.len > 0).then(|| Posted::ticks(unsafe { &*Self::at(self.first, self.read) }))
    }

    /// Takes the oldest entry out.
    pub(super) fn pop(&mut self) -> Option<Posted<T>> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: an entry that was written and not yet read: the first chunk has more than were read, since it
        // goes with the last of them.
        let entry = unsafe { Self::at(self.first, self.read).read() };
        self.read += 1;
        self.len -= 1;
        if self.len == 0 {
            // The chunk that was written last, from its beginning again.
            self.room += self.written;
            (self.read, self.written) = (0, 0);
        // SAFETY: as above.
        } else if self.read == unsafe { (*self.first).capacity } {
            let chunk = self.first;
            // SAFETY: there are more entries, so there is a chunk behind it, and nothing else points to this one.
            unsafe {
                self.first = (*chunk).next;
                Self::give(chunk);
            }
            self.read = 0;
        }
        Some(entry)
    }

    /// Gives all memory back.
    pub(super) fn clear(&mut self) {
        let mut chunk = self.first;
        while !chunk.is_null() {
            // SAFETY: the list's own, and the list is forgotten.
            unsafe {
                let next = (*chunk).next;
                Self::give(chunk);
                chunk = next;
            }
        }
        *self = Fifo::new();
    }

    /// Forgets all entries: they are another process's, which was amid a change of them.
    pub(super) fn forget(&mut self) {
        *self = Fifo::new();
    }

    /// Adds a chunk at the end: a quarter of what there is, so that what is not used is little.
    fn grow(&mut self) -> bool {
        let size = size_of::<Posted<T>>();
        let wanted = ((self.len + self.reserved) / 4).saturating_mul(size).min(MOST);
        let bytes = (Self::START + wanted.max(LEAST * size)).next_multiple_of(PAGE);
        let Some(at) = memory::take(bytes) else { return false };
        let (chunk, capacity) = (at.as_ptr().cast::<Chunk>(), (bytes - Self::START) / size);
        // SAFETY: fresh memory of so many bytes, aligned to a page; the last chunk is the list's own.
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

    /// Where an entry of a chunk is.
    ///
    /// # Safety
    /// The chunk must be the list's own, and have more entries than `index`.
    unsafe fn at(chunk: *mut Chunk, index: usize) -> *mut Posted<T> {
        // SAFETY: as promised, inside of the chunk's memory.
        unsafe { chunk.cast::<u8>().add(Self::START).cast::<Posted<T>>().add(index) }
    }

    /// Gives a chunk back.
    ///
    /// # Safety
    /// Nothing may point to it any more.
    unsafe fn give(chunk: *mut Chunk) {
        // SAFETY: as promised; chunks are made of what `take` gave.
        unsafe {
            let bytes = (*chunk).bytes;
            memory::give(NonNull::new_unchecked(chunk.cast()), bytes);
        }
    }
}
