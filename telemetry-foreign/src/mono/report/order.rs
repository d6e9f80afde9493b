//! The order in which Mono's own tool lists items with equal numbers: that of its hash tables.

/// Entries of a table that is imitated. Larger tables keep the order in which items were found.
const MOST: usize = 1 << 14;

/// Returns the order of a table of chains: by chain, the newest first.
pub(super) fn chained(slots: impl Iterator<Item = u64>) -> Vec<usize> {
    let slots: Vec<u64> = slots.collect();
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by_key(|index| (slots[*index], std::cmp::Reverse(*index)));
    order
}

/// Returns the chain of a class or a method.
pub(super) fn large_slot(address: u64) -> u64 {
    (address >> 2 & 0xffff) % 9371
}

/// Returns the chain of an image or an assembly.
pub(super) fn small_slot(address: u64) -> u64 {
    (address >> 2 & 0xffff) % 31
}

/// Returns the chain of a monitor.
pub(super) fn monitor_slot(object: u64) -> u64 {
    (object >> 3 & 0xffff) % 31
}

/// Returns the order of a table with open addressing, by place. The table begins with four places.
/// It doubles before an item is added if it is half full. `hashes` are in the order in which they
/// were added. `grows_once_more` says that an item that was there already was added at the end.
pub(super) fn probed(hashes: &[u64], start: usize, grows_once_more: bool) -> Vec<usize> {
    if hashes.len() > MOST {
        return (0..hashes.len()).collect();
    }
    let mut places: Vec<Option<usize>> = vec![None; start];
    let grow = |places: &mut Vec<Option<usize>>, count: usize| {
        if count * 2 >= places.len() {
            let old = std::mem::take(places);
            places.resize((old.len() * 2).max(4), None);
            old.into_iter().flatten().for_each(|index| put(places, hashes, index));
        }
    };
    for index in 0..hashes.len() {
        grow(&mut places, index);
        put(&mut places, hashes, index);
    }
    if grows_once_more {
        grow(&mut places, hashes.len());
    }
    places.into_iter().flatten().collect()
}

fn put(places: &mut [Option<usize>], hashes: &[u64], index: usize) {
    let size = places.len();
    let start = (hashes[index] % size as u64) as usize;
    let free = (start..size).chain(0..start).find(|place| places[*place].is_none());
    if let Some(place) = free {
        places[place] = Some(index);
    }
}
