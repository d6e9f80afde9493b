//! The order of events in a buffer, beside that of time.
//!
//! Events go through a stream by time, and those of different kinds at the same time in any order. Inside a buffer
//! the order by time, then kind, then as they stood, is therefore what everybody can make again. Where the buffer has
//! another one, because its clock went back or because two kinds share a time, events `Order` say where each event
//! of that order stands.

/// Positions in one event.
pub(super) const PER_EVENT: usize = 4096;

/// What an event is ordered by: clock reading, bit of the kind.
pub(super) type Key = (u64, u8);

/// Events `Order` that a buffer of so many events needs, if any are needed.
pub(super) fn events(len: u32) -> u32 {
    len.div_ceil(PER_EVENT as u32)
}

/// By key: the place of each event.
pub(super) fn positions(keys: &[Key]) -> Vec<u32> {
    let mut positions: Vec<u32> = (0..keys.len() as u32).collect();
    positions.sort_by_key(|position| keys[*position as usize]);
    positions
}

/// True if these are the numbers from 0, each once.
pub(super) fn is_permutation(positions: &[u32]) -> bool {
    let mut seen = vec![false; positions.len()];
    positions
        .iter()
        .all(|position| seen.get_mut(*position as usize).is_some_and(|seen| !std::mem::replace(seen, true)))
}
