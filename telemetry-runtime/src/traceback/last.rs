//! The last events of all that are in memory, in two goes: where they are, then what they are.
//!
//! A block can only be decoded from its beginning, so the first go passes over all events of the latest
//! blocks and keeps the last; the second decodes these again, in the order of time.

use super::blocks::{self, CHUNK, Place, Seen};
use super::scratch::Scratch;
use super::walk::{Piece, Walk};
use crate::registry::Registry;

/// Blocks that the horizon goes back over, each by a look at all headers. One or two are enough where blocks
/// have many events.
const MOST_STEPS: usize = 16;

/// An event that was seen in the first go.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// In ticks.
    pub(super) time: u64,
    pub(super) thread: u32,
    pub(super) thread_name: [u8; 16],
    pub(super) registry: Option<&'static Registry>,
    /// Index of its kind.
    pub(super) kind: usize,
    /// The kind's times are those of other kinds' events, which come first.
    inherits: bool,
    /// Its block, and how many events of it precede this one.
    place: Option<Place>,
    index: u32,
}

impl Found {
    pub(super) const NONE: Found = Found {
        time: 0,
        thread: 0,
        thread_name: [0; 16],
        registry: None,
        kind: 0,
        inherits: false,
        place: None,
        index: 0,
    };

    /// The order that readers of streams give. The events of a lane are kept in their own.
    fn key(&self) -> impl Ord {
        (self.time, self.thread, self.inherits, self.kind)
    }
}

/// Finds the last events, of one thread or of all, at most `most`, and puts them into `scratch.found`. How many there
/// are.
pub(super) fn find(scratch: &mut Scratch, thread: Option<u32>, most: usize) -> usize {
    // Blocks of no thread are not those of a thread that has none.
    let is_wanted = |block: &Seen| thread.is_none_or(|thread| thread != 0 && thread == block.header.thread);
    let since = horizon(is_wanted, most as u64);
    match find_since(scratch, is_wanted, most, since) {
        // What the horizon counted on was recycled.
        len if len < most && since > 0 => find_since(scratch, is_wanted, most, 0),
        len => len,
    }
}

/// A time that enough events are later than: by the headers of the latest blocks, so that the others need not
/// be decoded. 0 if it is not found soon.
fn horizon(is_wanted: impl Fn(&Seen) -> bool, most: u64) -> u64 {
    let (mut since, mut events) = (u64::MAX, 0);
    for _ in 0..MOST_STEPS {
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
            // A block that is not what it says is not used at all.
            let _ = block
                .payload(payload)
                .filter(|payload| end(block, payload, slots).is_some_and(|end| end >= earliest))
                .and_then(|payload| collect(block, payload, slots, found, &mut len));
        }
    });
    len
}

/// The time of a block's last event, if the block is what its header says.
fn end(block: &Seen, payload: &[u8], slots: &mut [u64]) -> Option<u64> {
    let (mut walk, mut end) = (Walk::new(block, slots)?, None);
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
    let mut walk = Walk::new(block, slots)?;
    let skip = block.header.events.saturating_sub(found.len() as u32);
    let mut new = Found {
        thread: block.header.thread,
        thread_name: block.thread_name,
        registry: Some(walk.registry),
        kind: walk.kind,
        inherits: walk.registry.relation().kinds[walk.kind].inherits,
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

/// Puts an event in its place, and drops the earliest if there are enough.
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

/// Where the second go is: in the block of the event that was decoded last, behind it.
pub(super) struct Loaded {
    place: Place,
    len: usize,
    walk: Walk,
}

/// Decodes an event that was found. None if its block is gone.
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
        *loaded = Some(Loaded { place, len, walk: Walk::new(&block, slots)? });
    }
    let Loaded { len, walk, .. } = loaded.as_mut()?;
    let payload = payload.get(..*len)?;
    while walk.index < found.index {
        walk.next(payload, slots, |_| {})?.ok()?;
    }
    walk.next(payload, slots, tell)?.ok()?;
    Some(())
}
