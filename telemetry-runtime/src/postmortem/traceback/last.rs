//! Finds the last events in memory in two steps: where they are, and then what they are.
//!
//! A block can only be decoded from its beginning. The first step passes over all events of the
//! latest blocks and keeps the last ones. The second step decodes these again, in the order of
//! time.

use super::blocks::{self, CHUNK, Place, Seen};
use super::found::Found;
use super::scratch::Scratch;
use crate::memory::walk::{Piece, Walk};

/// Maximum number of steps to find the horizon. Each step goes one block back and reads all
/// headers. One or two suffice if blocks have many events.
const MAX_STEPS: usize = 16;

/// Finds the last events of one thread or of all threads, and stores them in `scratch.found`.
/// Returns their number, which is at most `most`.
pub(super) fn find(scratch: &mut Scratch, thread: Option<u32>, most: usize) -> usize {
    // A thread without a number has no blocks. Blocks without a thread are not its own.
    let is_wanted = |block: &Seen| thread.is_none_or(|thread| thread != 0 && thread == block.header.thread);
    let since = horizon(is_wanted, most as u64);
    match find_since(scratch, is_wanted, most, since) {
        // A block that the horizon is based on was evicted.
        len if len < most && since > 0 => find_since(scratch, is_wanted, most, 0),
        len => len,
    }
}

/// Returns a time after which there are enough events, by the headers of the latest blocks. Earlier
/// blocks need not be decoded then. Returns 0 if it does not find such a time soon.
fn horizon(is_wanted: impl Fn(&Seen) -> bool, most: u64) -> u64 {
    let (mut since, mut events) = (u64::MAX, 0);
    for _ in 0..MAX_STEPS {
        let (mut base, mut count) = (0, 0);
        blocks::each(|block| {
            let opened = block.header.base_ticks;
            if (base..since).contains(&opened) && block.header.events > 0 && is_wanted(block) {
                (base, count) = (opened, block.header.events.into());
            }
        });
        (since, events) = (base, events + count);
        if events >= most || since == 0 {
            return since;
        }
    }
    0
}

fn find_since(scratch: &mut Scratch, is_wanted: impl Fn(&Seen) -> bool, most: usize, since: u64) -> usize {
    let Scratch { payload, slots, found } = scratch;
    let Some(found) = found.get_mut(..most).filter(|found| !found.is_empty()) else { return 0 };
    let mut len = 0;
    blocks::each(|block| {
        let earliest = if len == found.len() { found[0].time.max(since) } else { since };
        if is_wanted(block) && block.sealed.is_none_or(|end| end >= earliest) {
            // A block that contradicts its header is not used at all.
            let _ = block
                .payload(payload)
                .filter(|payload| end(block, payload, slots).is_some_and(|end| end >= earliest))
                .and_then(|payload| collect(block, payload, slots, found, &mut len));
        }
    });
    len
}

/// Returns the time of a block's last event, if the block agrees with its header.
fn end(block: &Seen, payload: &[u8], slots: &mut [u64]) -> Option<u64> {
    let (mut walk, mut end) = (Walk::new(&block.header, slots)?, None);
    while let Some(time) = walk.next(payload, slots, |_| {}) {
        end = Some(time.ok()?);
    }
    end.filter(|_| walk.index == block.header.events)
}

/// Keeps the last events of a block.
fn collect(
    block: &Seen,
    payload: &[u8],
    slots: &mut [u64],
    found: &mut [Found],
    len: &mut usize,
) -> Option<()> {
    let mut walk = Walk::new(&block.header, slots)?;
    let skip = block.header.events.saturating_sub(found.len() as u32);
    let mut new = Found {
        thread: block.header.thread,
        thread_name: block.thread_name,
        registry: Some(walk.registry),
        kind: walk.kind,
        inherits: walk.registry.def().kinds[walk.kind].inherits,
        place: Some(block.place()),
        ..Found::NONE
    };
    while let Some(time) = walk.next(payload, slots, |_| {}) {
        (new.time, new.index) = (time.ok()?, walk.index - 1);
        if new.index >= skip {
            keep(found, len, &new);
        }
    }
    Some(())
}

/// Inserts an event in order, and drops the earliest one if there are enough.
fn keep(found: &mut [Found], len: &mut usize, new: &Found) {
    let at = found[..*len].partition_point(|old| old.key() <= new.key());
    if *len < found.len() {
        found[at..=*len].rotate_right(1);
        found[at] = *new;
        *len += 1;
    } else if at > 0 {
        found[..at].rotate_left(1);
        found[at - 1] = *new;
    }
}

/// The position of the second step: in the block of the last decoded event, after that event.
pub(super) struct Loaded {
    place: Place,
    len: usize,
    walk: Walk,
}

/// Decodes an event that was found. Returns `None` if its block is gone.
pub(super) fn decode(
    payload: &mut [u8; CHUNK],
    slots: &mut [u64],
    loaded: &mut Option<Loaded>,
    found: &Found,
    tell: impl FnMut(Piece<'_>),
) -> Option<()> {
    let place = found.place?;
    if loaded.as_ref().is_none_or(|loaded| loaded.place != place || loaded.walk.index > found.index) {
        *loaded = None;
        let block = place.find()?;
        let len = block.payload(payload)?.len();
        *loaded = Some(Loaded { place, len, walk: Walk::new(&block.header, slots)? });
    }
    let Loaded { len, walk, .. } = loaded.as_mut()?;
    let payload = payload.get(..*len)?;
    while walk.index < found.index {
        walk.next(payload, slots, |_| {})?.ok()?;
    }
    walk.next(payload, slots, tell)?.ok()?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept_in_order() {
        let check = |room: usize, expected: &[(u64, u32)]| {
            let (mut found, mut len) = (vec![Found::NONE; room], 0);
            for (index, time) in (0..).zip([5, 1, 9, 7, 5, 3, 9]) {
                keep(&mut found, &mut len, &Found { time, index, ..Found::NONE });
            }
            let kept: Vec<_> = found[..len].iter().map(|event| (event.time, event.index)).collect();
            assert_eq!(kept, expected, "{room}");
        };
        check(9, &[(1, 1), (3, 5), (5, 0), (5, 4), (7, 3), (9, 2), (9, 6)]);
        check(7, &[(1, 1), (3, 5), (5, 0), (5, 4), (7, 3), (9, 2), (9, 6)]);
        check(4, &[(5, 4), (7, 3), (9, 2), (9, 6)]);
        check(1, &[(9, 6)]);
    }

    #[test]
    fn events_of_one_time_have_the_order_of_readers() {
        let first = Found { time: 5, thread: 2, inherits: false, kind: 1, ..Found::NONE };
        for later in [
            Found { time: 6, thread: 1, kind: 0, ..first },
            Found { thread: 3, kind: 0, ..first },
            Found { inherits: true, kind: 0, ..first },
            Found { kind: 2, ..first },
        ] {
            for pair in [[first, later], [later, first]] {
                let (mut found, mut len) = ([Found::NONE; 2], 0);
                pair.iter().for_each(|event| keep(&mut found, &mut len, event));
                assert!(found[0].key() == first.key() && found[1].key() == later.key());
            }
        }
    }
}
