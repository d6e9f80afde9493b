//! The pages of a chunk, as a bitmap. One exchange takes a run of pages, and one returns it.

use crate::sys::atomic::{AtomicU16, Ordering};

/// Number of pages in a chunk, and in the largest block.
pub(crate) const CHUNK_PAGES: usize = 16;

/// Sets a run of free bits that is aligned to its length, and returns the index of the first.
pub(crate) fn take(map: &AtomicU16, pages: usize) -> Option<usize> {
    let mut taken = map.load(Ordering::Relaxed);
    loop {
        let page = (0..CHUNK_PAGES).step_by(pages).find(|page| u32::from(taken) & run(pages) << page == 0)?;
        let with = taken | (run(pages) << page) as u16;
        // Acquire: the previous owner of the pages has finished with them.
        match map.compare_exchange_weak(taken, with, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Some(page),
            Err(now) => taken = now,
        }
    }
}

/// Returns the run that begins at `page`.
pub(crate) fn give(map: &AtomicU16, page: usize, pages: usize) {
    // Release: the next owner of the pages sees what was done with them.
    map.fetch_and(!((run(pages) << page) as u16), Ordering::Release);
}

/// Returns a word with the lowest `pages` bits set.
const fn run(pages: usize) -> u32 {
    (1 << pages) - 1
}
