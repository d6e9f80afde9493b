//! The frames of all stacks that have a number, as they are compared: in mapped memory that only
//! grows, so that a reader needs no lock.
#![allow(unsafe_code)]

use core::ptr::null_mut;

use crate::sys;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Number of words of a chunk, and the maximum number of chunks: in all 64 MiB.
const CHUNK: usize = 8 << 10;
pub(crate) const MAX_CHUNKS: usize = 1 << 10;

/// Runs of words. A location is the number of words before a run, and never 0.
pub(crate) struct Arena {
    chunks: [AtomicPtr<u64>; MAX_CHUNKS],
    used: AtomicUsize,
    /// Maximum number of chunks.
    limit: usize,
}

impl Arena {
    pub(crate) const fn new(limit: usize) -> Arena {
        assert!(limit <= MAX_CHUNKS);
        Arena { chunks: [const { AtomicPtr::new(null_mut()) }; MAX_CHUNKS], used: AtomicUsize::new(1), limit }
    }

    /// Returns the location where a run of this length fits. There must be one caller at a time.
    pub(crate) fn reserve(&self, len: usize) -> Option<u32> {
        let mut at = self.used.load(Ordering::Relaxed);
        if at % CHUNK + len > CHUNK {
            at = at.next_multiple_of(CHUNK);
        }
        let chunk = self.chunks.get(at / CHUNK).filter(|_| at / CHUNK < self.limit && len <= CHUNK)?;
        if chunk.load(Ordering::Relaxed).is_null() {
            let memory = sys::map(CHUNK * size_of::<u64>())?;
            chunk.store(memory.cast(), Ordering::Release);
        }
        Some(at as u32)
    }

    /// Writes a run, for which there is room there, as [`Arena::reserve`] said.
    pub(crate) fn write(&self, location: u32, first: u64, rest: &[u64]) {
        let at = location as usize;
        let Some(start) = self.place(at, 1 + rest.len()) else { return };
        // SAFETY: inside a chunk, and no reader knows the location before it is in the table.
        unsafe {
            start.write(first);
            core::ptr::copy_nonoverlapping(rest.as_ptr(), start.add(1), rest.len());
        }
        self.used.store(at + 1 + rest.len(), Ordering::Relaxed);
    }

    /// Returns this number of words of a run that the table has.
    #[inline(always)]
    pub(crate) fn read(&self, location: u32, len: usize) -> Option<&'static [u64]> {
        let start = self.place(location as usize, len)?;
        // SAFETY: inside a chunk, which is never freed and was zeros. Words of the run were written
        // before its entry of the table. Those behind it are not written while a shorter run is
        // read, since the first word says how long the run is.
        Some(unsafe { core::slice::from_raw_parts(start, len) })
    }

    #[inline(always)]
    fn place(&self, at: usize, len: usize) -> Option<*mut u64> {
        let chunk = self.chunks.get(at / CHUNK)?.load(Ordering::Acquire);
        if chunk.is_null() || at % CHUNK + len > CHUNK {
            return None;
        }
        // SAFETY: the offset is inside the chunk.
        Some(unsafe { chunk.add(at % CHUNK) })
    }
}
