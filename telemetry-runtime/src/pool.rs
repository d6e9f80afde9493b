//! The fixed memory that all blocks come from: one mapping, made once.
//!
//! ```text
//! | a bitmap of 16 pages for every chunk | lane records | chunks of 64 KiB ... |
//! ```
//!
//! A block is 1, 4 or 16 pages of one chunk, aligned to its size, so that taking and returning is
//! one compare-exchange on the chunk's bitmap: no lock, nothing to be left half done by a signal or
//! a killed thread, no ABA.
#![allow(unsafe_code)]

use core::ptr::null_mut;

use crate::block::PAGE;
use crate::pages::{self, CHUNK_PAGES};
use crate::record::{LaneRecord, Owner};
use crate::sync::{AtomicPtr, AtomicU16, AtomicUsize, Ordering};
use crate::{image, sys};

const CHUNK: usize = CHUNK_PAGES * PAGE;

/// Where the one pool is. All zeros until [`Pool::init`].
pub(crate) struct Pool {
    base: AtomicPtr<u8>,
    chunks: AtomicUsize,
    /// Pages that no block has, or a few more: so that whoever finds none need not look at all chunks.
    free: AtomicUsize,
    /// Where the search for a free record begins.
    next_record: AtomicUsize,
    /// Records of threads that have ended.
    closed: AtomicUsize,
}

/// The pool of the process.
pub(crate) static POOL: Pool = Pool::new();

impl Pool {
    const fn new() -> Self {
        Pool {
            base: AtomicPtr::new(null_mut()),
            chunks: AtomicUsize::new(0),
            free: AtomicUsize::new(0),
            next_record: AtomicUsize::new(0),
            closed: AtomicUsize::new(0),
        }
    }

    /// Maps the pool: `bytes` of blocks, rounded up to whole chunks. False if there is no memory.
    pub(crate) fn init(&self, bytes: usize) -> bool {
        let chunks = bytes.div_ceil(CHUNK).max(1);
        let Some(base) = image::map_pool(tables(chunks) + chunks * CHUNK) else { return false };
        self.base.store(base, Ordering::Relaxed);
        self.free.store(chunks * CHUNK_PAGES, Ordering::Relaxed);
        self.chunks.store(chunks, Ordering::Release);
        true
    }

    /// In the child of a fork: forgets the parent's memory.
    pub(crate) fn forget(&self) {
        let chunks = self.chunks.swap(0, Ordering::Relaxed);
        let base = self.base.swap(null_mut(), Ordering::Relaxed);
        self.free.store(0, Ordering::Relaxed);
        self.next_record.store(0, Ordering::Relaxed);
        self.closed.store(0, Ordering::Relaxed);
        if chunks > 0 {
            // SAFETY: the only thread has left its lanes, and the store and the registries have forgotten theirs.
            unsafe { sys::unmap(base, tables(chunks) + chunks * CHUNK) };
        }
    }

    /// Bytes that all blocks together may have.
    pub(crate) fn bytes(&self) -> usize {
        self.chunks.load(Ordering::Acquire) * CHUNK
    }

    /// The memory of all chunks. It is never unmapped.
    pub(crate) fn memory(&self) -> *const [u8] {
        let chunks = self.chunks.load(Ordering::Acquire);
        let start = self.base.load(Ordering::Relaxed).wrapping_add(tables(chunks));
        core::ptr::slice_from_raw_parts(start, chunks * CHUNK)
    }

    /// The bitmaps: a set bit is a taken page.
    fn maps(&self) -> &[AtomicU16] {
        let chunks = self.chunks.load(Ordering::Acquire);
        let base = self.base.load(Ordering::Relaxed);
        if chunks == 0 {
            return &[];
        }
        // SAFETY: `init` mapped the table before it stored the number of chunks; zeros are valid.
        unsafe { core::slice::from_raw_parts(base.cast(), chunks) }
    }

    /// All lane records, free ones among them. There are as many as small blocks, so no lane with
    /// a block is ever without a record.
    pub(crate) fn records(&self) -> &[LaneRecord] {
        let chunks = self.chunks.load(Ordering::Acquire);
        if chunks == 0 {
            return &[];
        }
        let base = self.base.load(Ordering::Relaxed);
        // SAFETY: as in `maps`; the table follows the bitmaps at its alignment.
        unsafe { core::slice::from_raw_parts(base.add(map_len(chunks)).cast(), chunks * CHUNK_PAGES) }
    }

    /// A free record, filled in. The search goes round, so that it rarely meets taken ones.
    pub(crate) fn record(&self, owner: &Owner) -> Option<&LaneRecord> {
        let records = self.records();
        let start = self.next_record.load(Ordering::Relaxed) % records.len().max(1);
        let found = (start..records.len()).chain(0..start).find(|&index| records[index].claim(owner))?;
        self.next_record.store(found + 1, Ordering::Relaxed);
        Some(&records[found])
    }

    /// Takes note that the record's thread has ended. Its last block is sealed before.
    pub(crate) fn close(&self, record: &LaneRecord) {
        record.close();
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives a closed record back.
    pub(crate) fn free(&self, record: &LaneRecord) {
        record.free();
        self.closed.fetch_sub(1, Ordering::Relaxed);
    }

    /// True if so many threads have ended that their records should be freed soon.
    pub(crate) fn is_crowded(&self) -> bool {
        self.closed.load(Ordering::Relaxed) > self.records().len() / 4
    }

    /// Takes 1, 4 or 16 pages, or nothing if none are free in one piece.
    ///
    /// Large blocks come from the low end, where returned memory is warm; small ones from the high
    /// end, so that they do not break up chunks that large ones could have.
    pub(crate) fn take(&self, pages: usize) -> Option<*mut u8> {
        if self.free_pages() == 0 {
            return None;
        }
        let maps = self.maps();
        let try_chunk = |(chunk, map): (usize, &AtomicU16)| {
            let page = pages::take(map, pages)?;
            self.free.fetch_sub(pages, Ordering::Relaxed);
            let at = tables(maps.len()) + chunk * CHUNK + page * PAGE;
            // SAFETY: the chunk and the page are inside the mapping.
            Some(unsafe { self.base.load(Ordering::Relaxed).add(at) })
        };
        match pages {
            CHUNK_PAGES => maps.iter().enumerate().find_map(try_chunk),
            _ => maps.iter().enumerate().rev().find_map(try_chunk),
        }
    }

    /// Pages that no block has, or for moments more.
    pub(crate) fn free_pages(&self) -> usize {
        self.free.load(Ordering::Relaxed)
    }

    /// Returns what [`Pool::take`] gave.
    pub(crate) fn give(&self, at: *mut u8, pages: usize) {
        let maps = self.maps();
        // Before they are: never fewer than there are.
        self.free.fetch_add(pages, Ordering::Relaxed);
        let offset = at as usize - self.base.load(Ordering::Relaxed) as usize - tables(maps.len());
        pages::give(&maps[offset / CHUNK], offset % CHUNK / PAGE, pages);
    }
}

/// Takes a block of the wished size from the process's pool, or the largest below it that is free and large
/// enough.
pub(crate) fn take(least: usize, wish: usize) -> Option<(*mut u8, usize)> {
    let mut pages = wish.max(least);
    loop {
        if let Some(at) = POOL.take(pages) {
            return Some((at, pages));
        }
        if pages == least {
            return None;
        }
        pages /= 4;
    }
}

/// Bytes of the bitmaps, before the records.
const fn map_len(chunks: usize) -> usize {
    (chunks * size_of::<AtomicU16>()).next_multiple_of(align_of::<LaneRecord>())
}

/// Bytes of everything before the first chunk, whole pages.
const fn tables(chunks: usize) -> usize {
    (map_len(chunks) + chunks * CHUNK_PAGES * size_of::<LaneRecord>()).next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// A block of so many pages, or the return of one that was taken before.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Take(usize),
        Give(prop::sample::Index),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let take = prop::sample::select(vec![1, 4, CHUNK_PAGES]).prop_map(Step::Take);
        prop::collection::vec(
            prop_oneof![3 => take, 2 => any::<prop::sample::Index>().prop_map(Step::Give)],
            0..200,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pages_are_given_to_one_at_a_time_and_come_back(chunks in 1..5_usize, steps in steps()) {
            let pool = Pool::new();
            prop_assert!(pool.take(1).is_none(), "there is no memory yet");
            prop_assert!(pool.init(chunks * CHUNK - 1));
            let start = pool.base.load(Ordering::Relaxed) as usize + tables(chunks);
            let (mut taken, mut blocks) = (BTreeSet::new(), Vec::new());
            for step in steps {
                match step {
                    Step::Take(pages) => match pool.take(pages) {
                        Some(at) => {
                            let first = (at as usize - start) / PAGE;
                            prop_assert_eq!((at as usize - start) % (pages * PAGE), 0);
                            prop_assert!(first + pages <= chunks * CHUNK_PAGES);
                            for page in first..first + pages {
                                prop_assert!(taken.insert(page), "page {} twice", page);
                            }
                            blocks.push((at, pages));
                        }
                        None => {
                            let mut runs = (0..chunks * CHUNK_PAGES).step_by(pages);
                            let is_free = |first: usize| (first..first + pages).all(|page| !taken.contains(&page));
                            prop_assert!(!runs.any(is_free), "{} free pages were not found", pages);
                        }
                    },
                    Step::Give(index) if !blocks.is_empty() => {
                        let (at, pages) = blocks.swap_remove(index.index(blocks.len()));
                        let first = (at as usize - start) / PAGE;
                        (first..first + pages).for_each(|page| _ = taken.remove(&page));
                        pool.give(at, pages);
                    }
                    Step::Give(_) => {}
                }
            }
            blocks.into_iter().for_each(|(at, pages)| pool.give(at, pages));
            let whole = (0..=chunks).filter(|_| pool.take(CHUNK_PAGES).is_some()).count();
            prop_assert_eq!(whole, chunks);
        }
    }
}
