//! The order of events in a buffer, where it is not that of time.
//!
//! Events pass through a stream by time. Those of different kinds at the same time are in any
//! order. So every reader can reproduce only this order within a buffer: by time, then by kind,
//! then by position. The order of a buffer may differ, because its clock went back or because two
//! kinds share a time. Then events `Order` give the position of each event in that order.

/// Positions in one event.
pub(super) const PER_EVENT: usize = 4096;

/// The key of the order: clock reading, bit of the kind.
pub(super) type Key = (u64, u8);

/// Returns the number of events `Order` that a buffer of `len` events needs, if any.
pub(super) fn events(len: u32) -> u32 {
    len.div_ceil(PER_EVENT as u32)
}

/// Returns the position of each event, by key.
pub(super) fn positions(keys: &[Key]) -> Vec<u32> {
    let mut positions: Vec<u32> = (0..keys.len() as u32).collect();
    positions.sort_by_key(|position| keys[*position as usize]);
    positions
}

/// Returns true if these are the numbers from 0, each once.
pub(super) fn is_permutation(positions: &[u32]) -> bool {
    let mut seen = vec![false; positions.len()];
    positions
        .iter()
        .all(|position| seen.get_mut(*position as usize).is_some_and(|seen| !std::mem::replace(seen, true)))
}
