//! The pages of a chunk, as a bitmap. One exchange takes a run of pages, and one returns it.

use crate::sys::atomic::{AtomicU16, Ordering};

/// Number of pages in a chunk, and in the largest block.
pub(crate) const CHUNK_PAGES: usize = 16;

/// Sets a run of free bits that is aligned to its length, and returns the index of the first.
pub(crate) fn take(map: &AtomicU16, pages: usize) -> Option<usize> {
    let mut taken = map.load(Ordering::Relaxed);
    loop {
        let page = first_run(!taken, pages)?;
        let with = taken | run(pages) << page;
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
    map.fetch_and(!(run(pages) << page), Ordering::Release);
}

/// Returns the index of the first run of set bits that is aligned to its length: 1, 4 or 16.
#[inline(always)]
fn first_run(free: u16, pages: usize) -> Option<usize> {
    if pages == CHUNK_PAGES {
        return (free == u16::MAX).then_some(0);
    }
    // A bit stays set where a run begins.
    let begins = if pages == 1 { free } else { free & free >> 1 & free >> 2 & free >> 3 & 0x1111 };
    (begins != 0).then(|| begins.trailing_zeros() as usize)
}

/// Returns a word with the lowest `pages` bits set.
const fn run(pages: usize) -> u16 {
    u16::MAX >> (CHUNK_PAGES - pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_a_plain_search() {
        for (free, pages) in (0..=u16::MAX).flat_map(|free| [1, 4, CHUNK_PAGES].map(|pages| (free, pages))) {
            let is_free = |page: &usize| !free & run(pages) << page == 0;
            let wanted = (0..CHUNK_PAGES).step_by(pages).find(is_free);
            assert_eq!(first_run(free, pages), wanted, "{free:016b}, {pages} pages");
        }
    }
}
