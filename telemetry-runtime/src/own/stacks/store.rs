//! Call stacks that have a number. A known one is found without a lock. A new one is appended to
//! the lane of labels, under its lock.

use telemetry_format::put;
use telemetry_format::put::MAX_VARINT;

use crate::own::labels::{Slot, Store, Table};
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
}

impl Stacks {
    /// Creates an empty store, with a maximum number of chunks of frames.
    pub(crate) const fn new(chunks: usize) -> Stacks {
        Stacks {
            table: Table::new(),
            arena: Arena::new(chunks),
            modules: Modules::new(),
            last: AtomicU64::new(0),
        }
    }

    /// Returns the number of a stack that has one.
    #[inline(always)]
    pub(crate) fn known(&self, walk: &Walk) -> Option<u32> {
        self.find(walk, hash(walk))
    }

    /// Returns the number of a stack, and assigns a new one at first. Returns 0, and counts that,
    /// if there is no more room, or if this code interrupts the thread that appends.
    pub(crate) fn intern(&self, lane: &Store, walk: &mut Walk) -> u32 {
        let Some(_lock) = lane.lock() else {
            lane.count_reentrant();
            return 0;
        };
        walk.cut(|code| self.modules.has(lane, code));
        let hash = hash(walk);
        // Another thread may have been faster.
        if let Some(number) = self.find(walk, hash) {
            return number;
        }
        let number = self.last.load(Ordering::Relaxed) + 1;
        let place = || {
            let location = self.arena.reserve(1 + walk.frames().len())?;
            if !self.table.reserve(number) {
                return None;
            }
            let frames = walk.frames();
            lane.append(STACK, (3 + MAX_FRAMES) * MAX_VARINT, |out| {
                let out = put::unsigned(out, number);
                let out = put::byte(out, walk.end.repr());
                let mut out = put::unsigned(out, frames.len() as u64);
                let mut last = lane.slot(Slot::Frames);
                for &frame in frames {
                    out = put::delta(out, last, frame);
                    last = frame;
                }
                out
            })?;
            Some(location)
        };
        let Some(location) = place() else {
            lane.count_full();
            return 0;
        };
        lane.set_slot(Slot::Frames, walk.frames()[0]);
        self.last.store(number, Ordering::Relaxed);
        self.arena.write(location, form(walk) | number << 32, walk.frames());
        self.table.insert(hash, location);
        number as u32
    }

    #[inline(always)]
    fn find(&self, walk: &Walk, hash: u64) -> Option<u32> {
        let (form, frames) = (form(walk), walk.frames());
        self.table.find(hash, |location| {
            let [first] = *self.arena.read(location, 1)? else { return None };
            if first as u32 as u64 != form {
                return None;
            }
            let same = self.arena.read(location, 1 + frames.len())?[1..] == *frames;
            same.then_some((first >> 32) as u32)
        })
    }
}

/// Returns what the first word of a run says of a stack besides its number: less than 2^32.
#[inline(always)]
fn form(walk: &Walk) -> u64 {
    u64::from(walk.end.repr()) << 8 | walk.frames().len() as u64
}

/// Returns a hash whose upper bits are the best. The addresses of code are no one's choice, so that
/// a fast hash suffices.
#[inline(always)]
fn hash(walk: &Walk) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |hash: u64, frame: &u64| (hash.rotate_left(5) ^ frame).wrapping_mul(FACTOR);
    let hash = walk.frames().iter().fold(form(walk), fold);
    hash ^ hash >> 32
}
