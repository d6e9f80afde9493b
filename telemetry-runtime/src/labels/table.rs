//! Where each string is in the label store, by its hash: found without a lock, changed under one.
#![allow(unsafe_code)]

use core::ptr::{NonNull, null_mut};

use crate::sync::{AtomicPtr, AtomicU64, Ordering};
use crate::sys;

/// Bits of a location in the store.
pub(crate) const LOCATION_BITS: u32 = 26;
/// Most entries: every second place of the largest table.
pub(crate) const MAX_ENTRIES: u64 = 1 << 20;
/// Places of the first table.
const FIRST: usize = 256;

/// Open addressing in mapped memory, at most half full. An entry is the upper bits of the hash and the
/// location, which is never 0. A table that became too small stays, since a reader may be in it.
pub(crate) struct Table {
    /// The number of places, which is a power of two, then the places; or null.
    now: AtomicPtr<AtomicU64>,
}

impl Table {
    pub(crate) const fn new() -> Table {
        Table { now: AtomicPtr::new(null_mut()) }
    }

    /// The first entry of this hash that the function makes something of.
    pub(crate) fn find<T>(&self, hash: u64, at: impl Fn(u32) -> Option<T>) -> Option<T> {
        let places = self.places();
        let mut place = first(hash, places.len());
        while let Some(entry) = places.get(place) {
            // Acquire: whoever sees the entry sees the string.
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

    /// Makes room for so many entries. False if there is no memory, or they are too many. One caller at a
    /// time.
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
        // SAFETY: fresh memory of that many words, all zeros; nobody else knows of it yet.
        unsafe { (*start).store(len as u64, Ordering::Relaxed) };
        // SAFETY: as above; the memory stays for good.
        let new = unsafe { places(start) };
        for entry in old.iter().map(|entry| entry.load(Ordering::Relaxed)).filter(|&entry| entry != 0) {
            put(new, entry);
        }
        self.now.store(start, Ordering::Release);
        true
    }

    /// Adds an entry, for which there is room. One caller at a time.
    pub(crate) fn insert(&self, hash: u64, location: u32) {
        put(self.places(), hash & !LOCATION | u64::from(location));
    }

    fn places(&self) -> &'static [AtomicU64] {
        match NonNull::new(self.now.load(Ordering::Acquire)) {
            // SAFETY: `reserve` made it, and it stays for good.
            Some(start) => unsafe { places(start.as_ptr()) },
            None => &[],
        }
    }
}

const LOCATION: u64 = (1 << LOCATION_BITS) - 1;

/// # Safety
/// `start` must point to a number of places and these, for good.
unsafe fn places(start: *mut AtomicU64) -> &'static [AtomicU64] {
    // SAFETY: the caller's promise.
    unsafe {
        let len = (*start).load(Ordering::Relaxed) as usize;
        core::slice::from_raw_parts(start.add(1), len)
    }
}

/// Where the search for a hash begins.
fn first(hash: u64, places: usize) -> usize {
    (hash >> LOCATION_BITS) as usize & places.wrapping_sub(1)
}

/// Puts an entry into the first free place from where its search begins. There is one.
fn put(places: &[AtomicU64], entry: u64) {
    let start = first(entry, places.len());
    let mut order = (start..places.len()).chain(0..start);
    if let Some(free) = order.find(|&place| places[place].load(Ordering::Relaxed) == 0) {
        // Release: the string is written.
        places[free].store(entry, Ordering::Release);
    }
}
