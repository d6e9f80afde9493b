//! The fixed memory of all blocks: one mapping, made once, and the runtime's tables beside it.
//!
//! ```text
//! the pool, perhaps a ring file's:  | session's account | lanes' accounts | room | chunks ... |
//! the tables, always private:       | lanes' records | a bitmap of each chunk's pages | blocks |
//! ```
//!
//! The room is for the blocks that are needed to read the pool. It shares a page with the accounts.
//! Chunks have 64 KiB.
//!
//! Pointers, indices and lengths that the runtime uses are in the tables, where no other process
//! can write.
//!
//! A block begins as 1, 4 or 16 pages of one chunk, aligned to its size. So one compare-exchange on
//! the chunk's bitmap takes or returns it. There is no lock, no ABA problem, and no state that a
//! signal or a killed thread could leave half-written.
#![allow(unsafe_code)]

use core::ptr::null_mut;

use crate::memory::account::{Account, FIRST, Totals};
use crate::memory::block::{Block, PAGE, Room, pages_for};
use crate::memory::mapping;
use crate::memory::record::LaneRecord;
use crate::sync::pages::{self, CHUNK_PAGES};
use crate::sys;
use crate::sys::atomic::{AtomicPtr, AtomicU16, AtomicUsize, Ordering};

const CHUNK: usize = CHUNK_PAGES * PAGE;

/// The addresses of the one pool. All zeros until [`Pool::init`].
pub(crate) struct Pool {
    base: AtomicPtr<u8>,
    tables: AtomicPtr<u8>,
    chunks: AtomicUsize,
    /// Number of pages that no block has, or a few more. With it, a thread need not search all
    /// chunks of a full pool.
    free: AtomicUsize,
}

/// The pool of the process.
pub(crate) static POOL: Pool = Pool::new();

/// Maps the pool of the process, and the room for what a post-mortem needs. Returns false if there
/// is no memory.
pub(crate) fn begin(bytes: usize) -> bool {
    let has_memory = POOL.init(bytes);
    if has_memory {
        let base = POOL.base.load(Ordering::Relaxed);
        mapping::set_room(base.wrapping_add(ACCOUNTS), HEAD - ACCOUNTS);
    }
    has_memory
}

impl Pool {
    const fn new() -> Self {
        Pool {
            base: AtomicPtr::new(null_mut()),
            tables: AtomicPtr::new(null_mut()),
            chunks: AtomicUsize::new(0),
            free: AtomicUsize::new(0),
        }
    }

    /// Maps a pool with `bytes` bytes of blocks, rounded up to whole chunks. Returns false if there
    /// is no memory.
    fn init(&self, bytes: usize) -> bool {
        let chunks = bytes.div_ceil(CHUNK).max(1);
        let Some(tables) = sys::map(Tables::of(chunks).len) else { return false };
        let Some(base) = mapping::map_pool(HEAD + chunks * CHUNK) else {
            // SAFETY: no other code knows the mapping yet.
            unsafe { sys::unmap(tables, Tables::of(chunks).len) };
            return false;
        };
        self.base.store(base, Ordering::Relaxed);
        self.tables.store(tables, Ordering::Relaxed);
        self.free.store(chunks * CHUNK_PAGES, Ordering::Relaxed);
        self.chunks.store(chunks, Ordering::Release);
        true
    }

    /// Forgets the parent's memory, in the child of a fork.
    pub(crate) fn forget(&self) {
        let chunks = self.chunks.swap(0, Ordering::Relaxed);
        let base = self.base.swap(null_mut(), Ordering::Relaxed);
        let tables = self.tables.swap(null_mut(), Ordering::Relaxed);
        self.free.store(0, Ordering::Relaxed);
        if chunks > 0 {
            // SAFETY: the only thread has left its lanes, and the store and the registries have
            // forgotten their blocks. What is in the room stays.
            unsafe {
                sys::unmap(base.add(HEAD), chunks * CHUNK);
                sys::unmap(tables, Tables::of(chunks).len);
            }
        }
    }

    /// Returns the number of bytes that all blocks together may have.
    pub(crate) fn bytes(&self) -> usize {
        self.chunks.load(Ordering::Acquire) * CHUNK
    }

    /// Returns the memory of all chunks, which is never unmapped.
    pub(crate) fn memory(&self) -> *const [u8] {
        let chunks = self.chunks.load(Ordering::Acquire);
        let start = self.base.load(Ordering::Relaxed).wrapping_add(HEAD);
        core::ptr::slice_from_raw_parts(start, chunks * CHUNK)
    }

    /// Returns the bitmaps. A set bit is a taken page.
    fn maps(&self) -> &'static [AtomicU16] {
        self.table(|tables| tables.maps, 1)
    }

    /// Returns the entries of all blocks, ordered so that those in use are close together. First
    /// come the entries of the first pages of all chunks, where large blocks begin. Then come those
    /// of the other pages, the last chunk first, since small blocks are taken from there.
    fn blocks(&self) -> &'static [Block] {
        self.table(|tables| tables.blocks, CHUNK_PAGES)
    }

    /// Returns the index of a page's entry in [`Pool::blocks`].
    fn place(chunks: usize, chunk: usize, page: usize) -> usize {
        match page {
            0 => chunk,
            _ => chunks + (chunks - 1 - chunk) * (CHUNK_PAGES - 1) + page - 1,
        }
    }

    /// Returns a table with `each` entries per chunk.
    fn table<T>(&self, at: impl Fn(Tables) -> usize, each: usize) -> &'static [T] {
        let chunks = self.chunks.load(Ordering::Acquire);
        if chunks == 0 {
            return &[];
        }
        let start = self.tables.load(Ordering::Relaxed).wrapping_add(at(Tables::of(chunks)));
        // SAFETY: `init` mapped the tables before it stored the number of chunks. They are aligned,
        // and zeros are valid. They stay until `forget`, which is called when no code uses them.
        unsafe { core::slice::from_raw_parts(start.cast(), chunks * each) }
    }

    /// Returns the account of the session, or `None` without memory.
    pub(crate) fn totals(&self) -> Option<&'static Totals> {
        if self.chunks.load(Ordering::Acquire) == 0 {
            return None;
        }
        // SAFETY: as in `table`. The pool's memory begins with this account.
        Some(unsafe { &*self.base.load(Ordering::Relaxed).cast() })
    }

    /// Returns the records of the first lanes and their accounts, or `None` without memory.
    pub(crate) fn lanes(&self) -> Option<(*mut LaneRecord, *mut Account)> {
        let accounts = self.base.load(Ordering::Relaxed).wrapping_add(size_of::<Totals>());
        self.totals().map(|_| (self.tables.load(Ordering::Relaxed).cast(), accounts.cast()))
    }

    /// Takes 1, 4 or 16 adjacent pages. Returns `None` if there is no such run.
    ///
    /// Large blocks come from the low end, where returned memory is in the cache. Small ones come
    /// from the high end, so that they do not break up chunks for large ones.
    pub(crate) fn take(&self, pages: usize) -> Option<Room> {
        if self.free_pages() == 0 {
            return None;
        }
        let (maps, blocks) = (self.maps(), self.blocks());
        let try_chunk = |(chunk, map): (usize, &AtomicU16)| {
            let page = pages::take(map, pages)?;
            self.free.fetch_sub(pages, Ordering::Relaxed);
            let at = HEAD + chunk * CHUNK + page * PAGE;
            // SAFETY: the chunk and the page are inside the mapping.
            let at = unsafe { self.base.load(Ordering::Relaxed).add(at) };
            Some(Room { block: &blocks[Self::place(maps.len(), chunk, page)], at, pages })
        };
        match pages {
            CHUNK_PAGES => maps.iter().enumerate().find_map(try_chunk),
            _ => maps.iter().enumerate().rev().find_map(try_chunk),
        }
    }

    /// Returns the number of pages that no block has, or a few more for a moment.
    pub(crate) fn free_pages(&self) -> usize {
        self.free.load(Ordering::Relaxed)
    }

    /// Returns pages that [`Pool::take`] returned, or the last ones of them, to the pool.
    pub(crate) fn give(&self, at: *const u8, pages: usize) {
        let maps = self.maps();
        let offset = at.addr() - self.base.load(Ordering::Relaxed).addr() - HEAD;
        // Counted before they are free, so that the count is never too low.
        self.free.fetch_add(pages, Ordering::Relaxed);
        pages::give(&maps[offset / CHUNK], offset % CHUNK / PAGE, pages);
    }
}

/// Takes a block of the wished size from the process's pool. If none is free, takes the largest
/// smaller one that has at least `least` pages.
pub(crate) fn take(least: usize, wish: usize) -> Option<Room> {
    let mut pages = wish.max(least);
    loop {
        if let Some(room) = POOL.take(pages) {
            return Some(room);
        }
        if pages == least {
            return None;
        }
        pages /= 4;
    }
}

/// Returns the pages that a sealed block has not used.
pub(crate) fn give_tail(sealed: &Block, len: usize) {
    let (pages, used) = (sealed.pages(), pages_for(len));
    if used < pages {
        sealed.set_pages(used);
        POOL.give(sealed.head().cast::<u8>().wrapping_add(used * PAGE), pages - used);
    }
}

/// The offsets of the bitmaps and of the block entries after the first lane records, and the length
/// of all. A program with few lanes touches one page of them, and a few more for blocks beyond the
/// pool's first pages.
struct Tables {
    maps: usize,
    blocks: usize,
    len: usize,
}

impl Tables {
    const fn of(chunks: usize) -> Tables {
        let maps = FIRST * size_of::<LaneRecord>();
        let blocks = (maps + chunks * size_of::<AtomicU16>()).next_multiple_of(align_of::<Block>());
        let len = (blocks + chunks * CHUNK_PAGES * size_of::<Block>()).next_multiple_of(PAGE);
        Tables { maps, blocks, len }
    }
}

/// Length of the accounts before the first chunk, those of the session and the first lanes.
const ACCOUNTS: usize = size_of::<Totals>() + FIRST * size_of::<Account>();

/// Length of the accounts and of the room after them. Pages that are not written cost nothing.
const HEAD: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tables_have_an_entry_for_each_page() {
        for chunks in [1, 2, 3, 100] {
            let Tables { maps, blocks, len } = Tables::of(chunks);
            assert_eq!(maps, FIRST * size_of::<LaneRecord>());
            let (behind_maps, align) = (maps + chunks * size_of::<AtomicU16>(), align_of::<Block>());
            assert!((behind_maps..behind_maps + align).contains(&blocks), "{chunks}");
            let end = blocks + chunks * CHUNK_PAGES * size_of::<Block>();
            assert!((end..end + PAGE).contains(&len), "{chunks}");
            assert_eq!((blocks % align, len % PAGE), (0, 0));
            let pages = |chunk| (0..CHUNK_PAGES).map(move |page| Pool::place(chunks, chunk, page));
            let places: BTreeSet<usize> = (0..chunks).flat_map(pages).collect();
            assert!(places.into_iter().eq(0..chunks * CHUNK_PAGES), "{chunks}");
        }
    }

    /// Takes a block with this number of pages, or returns one that was taken before.
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
            let start = pool.memory().cast::<u8>().addr();
            let (mut taken, mut blocks) = (BTreeSet::new(), Vec::new());
            for step in steps {
                match step {
                    Step::Take(pages) => match pool.take(pages) {
                        Some(Room { at, .. }) => {
                            let first = (at.addr() - start) / PAGE;
                            prop_assert_eq!((at.addr() - start) % (pages * PAGE), 0);
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
                        let first = (at.addr() - start) / PAGE;
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
