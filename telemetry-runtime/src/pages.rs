//! The pages of a chunk: a bitmap from which runs are taken, and to which they return, by one exchange each.

use crate::sync::{AtomicU16, Ordering};

/// Pages of a chunk, and of the largest block.
pub(crate) const CHUNK_PAGES: usize = 16;

/// Sets a run of free bits that is aligned to its length, and returns the first.
pub(crate) fn take(map: &AtomicU16, pages: usize) -> Option<usize> {
    let mut taken = map.load(Ordering::Relaxed);
    loop {
        let page = (0..CHUNK_PAGES).step_by(pages).find(|page| u32::from(taken) & run(pages) << page == 0)?;
        let with = taken | (run(pages) << page) as u16;
        // Acquire: what the one before did with the pages is done.
        match map.compare_exchange_weak(taken, with, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Some(page),
            Err(now) => taken = now,
        }
    }
}

/// Returns a run that begins at `page`.
pub(crate) fn give(map: &AtomicU16, page: usize, pages: usize) {
    // Release: what was done with the pages is done before another takes them.
    map.fetch_and(!((run(pages) << page) as u16), Ordering::Release);
}

/// The lowest `pages` bits.
const fn run(pages: usize) -> u32 {
    (1 << pages) - 1
}
