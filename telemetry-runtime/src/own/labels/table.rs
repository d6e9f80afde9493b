//! The location of each string in the label store, by its hash. Reads take no lock, and changes
//! take one.
#![allow(unsafe_code)]

use core::ptr::{NonNull, null_mut};

use crate::sys;
use crate::sys::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Number of bits of a location in the store.
pub(crate) const LOCATION_BITS: u32 = 26;
/// Maximum number of entries: half the places of the largest table.
pub(crate) const MAX_ENTRIES: u64 = 1 << 20;
/// Number of places of the first table.
const FIRST: usize = 256;

/// A hash table with open addressing in mapped memory, at most half full. An entry consists of the
/// upper bits of the hash and the location, which is never 0. A table that became too small is not
/// freed, since a reader may use it.
pub(crate) struct Table {
    /// Null, or the number of places, a power of two, and after it the places.
    now: AtomicPtr<AtomicU64>,
}

impl Table {
    pub(crate) const fn new() -> Table {
        Table { now: AtomicPtr::new(null_mut()) }
    }

    /// Returns the first result of `at` for an entry with this hash.
    pub(crate) fn find<T>(&self, hash: u64, at: impl Fn(u32) -> Option<T>) -> Option<T> {
        let places = self.places();
        let mut place = first(hash, places.len());
        while let Some(entry) = places.get(place) {
            // Acquire: a thread that sees the entry sees the string.
            let entry = entry.load(Ordering::Acquire);
            if entry == 0 {
                break;
            }
            if entry >> LOCATION_BITS == hash >> LOCATION_BITS
                && let Some(found) = at((entry & LOCATION) as u32)
            {
                return Some(found);
            }
            place = (place + 1) & (places.len() - 1);
        }
        None
    }

    /// Makes room for this number of entries. Returns false if there is no memory, or if the number
    /// is too large. There must be one caller at a time.
    pub(crate) fn reserve(&self, entries: u64) -> bool {
        let old = self.places();
        if entries * 2 <= old.len() as u64 {
            return true;
        }
        if entries > MAX_ENTRIES {
            return false;
        }
        let len = (old.len() * 2).max(FIRST);
        let Some(start) = sys::map((1 + len) * size_of::<AtomicU64>()).map(<*mut u8>::cast::<AtomicU64>)
        else {
            return false;
        };
        // SAFETY: the memory is new, has this number of words, and is zeros. No other code knows it
        // yet.
        unsafe { (*start).store(len as u64, Ordering::Relaxed) };
        // SAFETY: as above, and the memory is never freed.
        let new = unsafe { places(start) };
        for entry in old.iter().map(|entry| entry.load(Ordering::Relaxed)).filter(|&entry| entry != 0) {
            put(new, entry);
        }
        self.now.store(start, Ordering::Release);
        true
    }

    /// Adds an entry, for which there is room. There must be one caller at a time.
    pub(crate) fn insert(&self, hash: u64, location: u32) {
        put(self.places(), hash & !LOCATION | u64::from(location));
    }

    fn places(&self) -> &'static [AtomicU64] {
        match NonNull::new(self.now.load(Ordering::Acquire)) {
            // SAFETY: `reserve` made it, and it is never freed.
            Some(start) => unsafe { places(start.as_ptr()) },
            None => &[],
        }
    }
}

const LOCATION: u64 = (1 << LOCATION_BITS) - 1;

/// # Safety
/// `start` must point to a number of places, and to the places after it. They must never be freed.
unsafe fn places(start: *mut AtomicU64) -> &'static [AtomicU64] {
    // SAFETY: by the contract of this function.
    unsafe {
        let len = (*start).load(Ordering::Relaxed) as usize;
        core::slice::from_raw_parts(start.add(1), len)
    }
}

/// Returns the place where the search for a hash begins.
fn first(hash: u64, places: usize) -> usize {
    (hash >> LOCATION_BITS) as usize & places.wrapping_sub(1)
}

/// Puts an entry into the first free place from the one where its search begins. There is always
/// one.
fn put(places: &[AtomicU64], entry: u64) {
    let start = first(entry, places.len());
    let mut order = (start..places.len()).chain(0..start);
    if let Some(free) = order.find(|&place| places[place].load(Ordering::Relaxed) == 0) {
        // Release: the string is written before.
        places[free].store(entry, Ordering::Release);
    }
}
