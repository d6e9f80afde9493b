//! Which memory is live: from the recorded program's addresses to numbers of the replayer.

use std::collections::HashMap;

use super::fault::{Fault, FaultCause, Origin};
use super::step::Step;

/// What to do again. Memory goes by numbers from 0, of which those of freed memory are used again: a vector
/// can have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Allocate.
    Alloc {
        /// Number of the new memory.
        slot: u32,
        /// Bytes.
        size: u64,
        /// A power of two.
        align: u64,
    },
    /// Free.
    Free {
        /// Number of the memory.
        slot: u32,
    },
    /// Give another size; place and alignment are the allocator's affair.
    Realloc {
        /// Number of the memory.
        slot: u32,
        /// Bytes.
        size: u64,
    },
}

/// What was done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Allocations.
    pub allocs: u64,
    /// Memory freed.
    pub frees: u64,
    /// Reallocations.
    pub reallocs: u64,
    /// Events of allocations that failed in the recorded program, and of freeing no memory: nothing to do.
    pub without_memory: u64,
    /// Events whose memory another thread has given up before its event came, see [`Live`].
    pub overlaps: u64,
    /// Bytes asked for by allocations and reallocations.
    pub asked_bytes: u64,
    /// Bytes live now.
    pub live_bytes: u64,
    /// Pieces of memory live now.
    pub live_blocks: u64,
    /// Most bytes live at once.
    pub peak_bytes: u64,
    /// Most pieces of memory live at once.
    pub peak_blocks: u64,
    /// Events that do not fit what came before them, listed or not.
    pub faults: u64,
    /// Of these, those that give up memory that no event has allocated.
    pub not_live: u64,
    /// Of these, those that no event that is lost or missing can be the reason of.
    pub inexcusable: u64,
}

/// The memory that is live.
///
/// Events are expected in the order of time, of programs whose threads share memory without a lock that both
/// allocator and event are under: one event tells that memory is given up before it is, another that it is
/// allocated after that. A reallocation can only be told behind it. Until then another thread may have been
/// given the old place, and have told so. So an allocation where memory is live is in order if another thread
/// gives that up later, an *overlap*; else it is a fault.
#[derive(Debug, Default)]
pub struct Live {
    /// By session and address: the latest allocation there.
    blocks: HashMap<Key, Block>,
    /// Those before it that are live, too, the oldest first.
    displaced: HashMap<Key, Vec<Block>>,
    free_slots: Vec<u32>,
    slots: u32,
    totals: Totals,
    faults: Vec<Fault>,
}

/// Session and address.
type Key = (u64, u64);

/// Most faults that are listed; what is beyond is counted.
const MAX_LISTED: usize = 1000;

#[derive(Debug)]
struct Block {
    slot: u32,
    size: u64,
    /// Number of the event that it is of.
    since: u64,
    /// The event that has allocated at the same place since.
    displaced_by: Option<Box<Origin>>,
}

impl Live {
    /// Nothing is live.
    pub fn new() -> Live {
        Live::default()
    }

    /// The same with room for this number of pieces of memory, so that no tables grow.
    pub fn with_capacity(blocks: usize) -> Live {
        let mut live = Live { free_slots: vec![0; blocks], ..Live::default() };
        live.free_slots.clear();
        // Touched, so that what is resident grows no more.
        live.blocks = (0..blocks as u64)
            .map(|n| ((n, n), Block { slot: 0, size: 0, since: 0, displaced_by: None }))
            .collect();
        live.blocks.clear();
        live
    }

    /// Takes the next event, and says what to do again; none if there is nothing to do.
    #[inline]
    pub fn step(&mut self, step: Step, origin: &Origin) -> Option<Op> {
        let key = |pointer| (origin.session, pointer);
        match step {
            Step::Alloc { pointer: 0, .. }
            | Step::Free { pointer: 0, .. }
            | Step::Realloc { old: 0, pointer: 0, .. } => {
                self.totals.without_memory += 1;
                None
            }
            Step::Alloc { pointer, size, align } | Step::Realloc { old: 0, pointer, size, align } => {
                self.alloc(key(pointer), size, align, origin)
            }
            Step::Free { pointer, size } => self.free(key(pointer), size, origin),
            Step::Realloc { old, pointer: 0, size: 0, .. } => self.free(key(old), None, origin),
            Step::Realloc { pointer: 0, .. } => {
                self.totals.without_memory += 1;
                None
            }
            Step::Realloc { old, pointer, size, align } => match self.take(key(old), None, origin) {
                None => self.alloc(key(pointer), size, align, origin),
                Some(Block { slot, .. }) => {
                    self.totals.reallocs += 1;
                    self.put(key(pointer), slot, size, origin);
                    Some(Op::Realloc { slot, size })
                }
            },
        }
    }

    /// What was done so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Ends the recording, and gives what was wrong with it, in the order of events: the first thousand that
    /// were found. What is live at the end is not wrong.
    pub fn finish(mut self) -> (Vec<Fault>, Totals) {
        let displaced = std::mem::take(&mut self.displaced).into_iter();
        let displaced = displaced.flat_map(|(key, blocks)| blocks.into_iter().map(move |block| (key, block)));
        let blocks = std::mem::take(&mut self.blocks);
        let all = displaced.chain(blocks);
        let mut left: Vec<_> = all.filter_map(|(key, block)| double(key, &block)).collect();
        left.sort_by_key(|fault| fault.origin.number);
        left.into_iter().for_each(|fault| self.fault(fault));
        self.faults.sort_by_key(|fault| fault.origin.number);
        (self.faults, self.totals)
    }

    fn alloc(&mut self, key: Key, size: u64, align: u64, origin: &Origin) -> Option<Op> {
        if !align.is_power_of_two() {
            self.fault(Fault { origin: *origin, cause: FaultCause::Align { found: align } });
            return None;
        }
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.totals.allocs += 1;
        self.put(key, slot, size, origin);
        Some(Op::Alloc { slot, size, align })
    }

    fn free(&mut self, key: Key, size: Option<u64>, origin: &Origin) -> Option<Op> {
        let Block { slot, .. } = self.take(key, size, origin)?;
        self.totals.frees += 1;
        self.free_slots.push(slot);
        Some(Op::Free { slot })
    }

    fn put(&mut self, key: Key, slot: u32, size: u64, origin: &Origin) {
        let block = Block { slot, size, since: origin.number, displaced_by: None };
        if let Some(before) = self.blocks.insert(key, block) {
            let displaced_by = Some(before.displaced_by.unwrap_or_else(|| Box::new(*origin)));
            self.displaced.entry(key).or_default().push(Block { displaced_by, ..before });
        }
        let totals = &mut self.totals;
        totals.asked_bytes = totals.asked_bytes.saturating_add(size);
        totals.live_bytes = totals.live_bytes.saturating_add(size);
        totals.live_blocks += 1;
        totals.peak_bytes = totals.peak_bytes.max(totals.live_bytes);
        totals.peak_blocks = totals.peak_blocks.max(totals.live_blocks);
    }

    /// The memory that an event gives up; `size` is what it says of it.
    fn take(&mut self, key: Key, size: Option<u64>, origin: &Origin) -> Option<Block> {
        let found = match self.displaced.is_empty() {
            true => self.blocks.remove(&key),
            false => self.take_one_of(key, size, origin),
        };
        let Some(block) = found else {
            self.fault(Fault { origin: *origin, cause: FaultCause::NotLive { pointer: key.1 } });
            return None;
        };
        self.totals.live_bytes = self.totals.live_bytes.saturating_sub(block.size);
        self.totals.live_blocks -= 1;
        if let Some(found) = size.filter(|size| *size != block.size) {
            let Block { size: expected, since, .. } = block;
            let cause = FaultCause::Size { pointer: key.1, found, expected, since };
            self.fault(Fault { origin: *origin, cause });
        }
        match &block.displaced_by {
            Some(by) if by.thread != origin.thread => self.totals.overlaps += 1,
            _ => {
                double(key, &block).into_iter().for_each(|fault| self.fault(fault));
            }
        }
        Some(block)
    }

    /// The same where there may be several at the address. The event's size tells which; or that another
    /// thread has allocated there; else it is the latest.
    fn take_one_of(&mut self, key: Key, size: Option<u64>, origin: &Origin) -> Option<Block> {
        let Some(older) = self.displaced.get_mut(&key) else { return self.blocks.remove(&key) };
        let latest = self.blocks.get(&key)?;
        let others = |block: &Block| block.displaced_by.as_ref().is_some_and(|by| by.thread != origin.thread);
        let by_size = size.filter(|size| *size != latest.size);
        let fits = by_size.and_then(|size| older.iter().position(|block| block.size == size));
        let is_latest =
            size.is_some() && by_size.is_none() && older.iter().all(|block| Some(block.size) != size);
        let chosen = match fits {
            None if is_latest => None,
            None => older.iter().position(others),
            fits => fits,
        };
        let taken = match chosen {
            Some(index) => Some(older.remove(index)),
            None => older.pop().and_then(|before| self.blocks.insert(key, before)),
        };
        if older.is_empty() {
            self.displaced.remove(&key);
        }
        taken
    }

    fn fault(&mut self, fault: Fault) {
        self.totals.faults += 1;
        self.totals.not_live += u64::from(matches!(fault.cause, FaultCause::NotLive { .. }));
        self.totals.inexcusable += u64::from(!fault.cause.is_excused_by_loss());
        if self.faults.len() < MAX_LISTED {
            self.faults.push(fault);
        }
    }
}

/// The fault of the event that allocated where this is live, if there is one.
fn double((_, pointer): Key, block: &Block) -> Option<Fault> {
    let origin = **block.displaced_by.as_ref()?;
    Some(Fault { origin, cause: FaultCause::Live { pointer, since: block.since } })
}
