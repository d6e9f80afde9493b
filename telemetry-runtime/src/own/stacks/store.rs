//! Call stacks that have a number. A known one is found without a lock. A new one is appended to
//! the lane of labels, under its lock.

use telemetry_format::put;
use telemetry_format::put::MAX_VARINT;

use crate::own::labels::{MAX_ENTRIES, Slot, Store, Table};
use crate::own::registry::{MAX_FRAMES, STACK};
use crate::own::stacks::arena::Arena;
use crate::own::stacks::modules::Modules;
use crate::own::stacks::walk::Walk;
use crate::sys::atomic::{AtomicU64, Ordering};

/// The stacks of a lane.
pub(crate) struct Stacks {
    table: Table,
    arena: Arena,
    modules: Modules,
    /// The last number that was assigned.
    last: AtomicU64,
    /// Number of entries of the table: a stack may be there once more as it was walked.
    entries: AtomicU64,
}

impl Stacks {
    /// Creates an empty store, with a maximum number of chunks of frames.
    pub(crate) const fn new(chunks: usize) -> Stacks {
        Stacks {
            table: Table::new(),
            arena: Arena::new(chunks),
            modules: Modules::new(),
            last: AtomicU64::new(0),
            entries: AtomicU64::new(0),
        }
    }

    /// Returns the number of a stack that has one.
    #[inline(always)]
    pub(crate) fn known(&self, walk: &Walk) -> Option<u32> {
        self.find(walk, walk.hash())
    }

    /// Returns the number of a stack, and assigns a new one at first. Returns 0, and counts that,
    /// if there is no more room, or if this code interrupts the thread that appends.
    pub(crate) fn intern(&self, lane: &Store, walk: &Walk) -> u32 {
        let Some(_lock) = lane.lock() else {
            lane.count_reentrant();
            return 0;
        };
        // Another thread may have been faster.
        if let Some(number) = self.known(walk) {
            return number;
        }
        let Some(cut) = walk.cut(|code| self.modules.has(lane, code)) else {
            return self.add(lane, walk);
        };
        let number = self.known(&cut).unwrap_or_else(|| self.add(lane, &cut));
        // The next time it is found as it was walked. The end of the main thread's stack is such a
        // case. What always differs must not fill the memory.
        if number != 0 && self.entries.load(Ordering::Relaxed) < MAX_ENTRIES / 2 {
            let _ = self.keep(walk, number.into());
        }
        number
    }

    /// Assigns a number to a new stack, and appends it to the lane. The caller has the lock.
    fn add(&self, lane: &Store, walk: &Walk) -> u32 {
        let (number, frames) = (self.last.load(Ordering::Relaxed) + 1, walk.frames());
        let need = (3 + MAX_FRAMES) * MAX_VARINT;
        let append = || {
            lane.append(STACK, need, |out| {
                let out = put::unsigned(out, number);
                let out = put::byte(out, walk.end.repr());
                let mut out = put::unsigned(out, frames.len() as u64);
                let mut last = lane.slot(Slot::Frames);
                for &frame in frames {
                    out = put::delta(out, last, frame);
                    last = frame;
                }
                out
            })
        };
        // First there is room to find it, then it is appended, and then it is found.
        if self.room(walk).is_none() || append().is_none() {
            lane.count_full();
            return 0;
        }
        lane.set_slot(Slot::Frames, frames[0]);
        self.last.store(number, Ordering::Relaxed);
        let _ = self.keep(walk, number);
        number as u32
    }

    /// Returns where the frames of a stack can be kept.
    fn room(&self, walk: &Walk) -> Option<u32> {
        let location = self.arena.reserve(1 + walk.frames().len())?;
        self.table.reserve(self.entries.load(Ordering::Relaxed) + 1).then_some(location)
    }

    /// Keeps the frames of a stack with a number.
    fn keep(&self, walk: &Walk, number: u64) -> Option<()> {
        let location = self.room(walk)?;
        self.arena.write(location, walk.form() | number << 32, walk.frames());
        self.table.insert(walk.hash(), location);
        self.entries.fetch_add(1, Ordering::Relaxed);
        Some(())
    }

    #[inline(always)]
    fn find(&self, walk: &Walk, hash: u64) -> Option<u32> {
        let (form, frames) = (walk.form(), walk.frames());
        self.table.find(hash, |location| {
            let [first] = *self.arena.read(location, 1)? else { return None };
            if first as u32 as u64 != form {
                return None;
            }
            let same = self.arena.read(location, 1 + frames.len())?;
            are_equal(&same[1..], frames).then_some((first >> 32) as u32)
        })
    }
}

/// Compares frames of equal numbers. Most often they are equal, so it looks at all of them.
#[inline(always)]
fn are_equal(one: &[u64], other: &[u64]) -> bool {
    one.iter().zip(other).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
}
