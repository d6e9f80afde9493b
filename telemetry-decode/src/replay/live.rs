//! The live memory: maps the recorded program's addresses to numbers for the replayer.

use std::collections::HashMap;

use super::fault::{Fault, FaultCause, Origin};
use super::step::Step;

/// An operation to replay. Memory has numbers from 0, and those of freed memory are reused, so a
/// vector can hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Change the size. Address and alignment are up to the allocator.
    Realloc {
        /// Number of the memory.
        slot: u32,
        /// Bytes.
        size: u64,
    },
}

/// The counts of operations so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Allocations.
    pub allocs: u64,
    /// Frees.
    pub frees: u64,
    /// Reallocations.
    pub reallocs: u64,
    /// Events of allocations that failed in the recorded program, and of freeing no memory. There
    /// is nothing to replay.
    pub without_memory: u64,
    /// Events whose memory another thread freed before the event came, see [`Live`].
    pub overlaps: u64,
    /// Bytes requested by allocations and reallocations.
    pub asked_bytes: u64,
    /// Bytes live now.
    pub live_bytes: u64,
    /// Pieces of memory live now.
    pub live_blocks: u64,
    /// The most bytes live at once.
    pub peak_bytes: u64,
    /// The most pieces of memory live at once.
    pub peak_blocks: u64,
    /// Events that contradict earlier events, listed or not.
    pub faults: u64,
    /// Of these, events that free or move memory that no event has allocated.
    pub not_live: u64,
    /// Of these, events that no lost or missing event can explain.
    pub inexcusable: u64,
}

/// The live memory.
///
/// Events are expected in time order. A program's threads may share memory without a lock around
/// both the allocator and the event. Then an event of freeing may come before the free itself, and
/// an event of allocating comes after the allocation. An event of reallocating can only come after
/// it. Before that, another thread may get the old address, and its event may come first. So
/// allocating live memory is correct if another thread frees it later, an *overlap*; otherwise it
/// is a fault.
///
/// ```
/// use telemetry_decode::replay::{FaultCause, Live, Op, Origin, Step};
/// use telemetry_decode::writer::{Lane, Writer};
/// use telemetry_decode::{Facts, Reader, Value};
///
/// let registry = telemetry_schema::parse(r#"
///     [registry]
///     name = "heap"
///     version = "1.0.0"
///     doc = "An allocator"
///     [kinds]
///     Heap = { bit = 0, doc = "per call" }
///     [[event]]
///     name = "Alloc"
///     code = 1
///     kind = "Heap"
///     doc = "Memory was allocated"
///     replay = { action = "alloc", pointer = "block", size = "size" }
///     params = [
///         { name = "block", sort = "addr", doc = "its address" },
///         { name = "size", sort = "word", unit = "bytes", doc = "its size" },
///     ]
///     [[event]]
///     name = "Free"
///     code = 2
///     kind = "Heap"
///     doc = "Memory was freed"
///     replay = { action = "free", pointer = "block" }
///     params = [{ name = "block", sort = "addr", doc = "its address" }]
/// "#).unwrap();
/// let mut writer = Writer::new(Vec::new());
/// writer.session(1, &Facts::default(), 0, 0)?;
/// let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry)? };
/// writer.event(lane, 1, 10, &[Value::Addr(0x1000), Value::Word(64)])?;
/// writer.event(lane, 2, 20, &[Value::Addr(0x1000)])?;
/// writer.event(lane, 2, 30, &[Value::Addr(0x1000)])?;
/// writer.end(1, 40)?;
/// let stream = writer.finish()?;
///
/// let (mut live, mut ops, mut number) = (Live::new(), Vec::new(), 0);
/// let mut events = Reader::from_slice(&stream).events()?;
/// while let Some(event) = events.next()? {
///     number += 1;
///     if let Some(step) = Step::of(&event) {
///         ops.extend(live.step(step, &Origin::of(number, &event)));
///     }
/// }
/// assert_eq!(ops, [Op::Alloc { slot: 0, size: 64, align: 16 }, Op::Free { slot: 0 }]);
/// let (faults, totals) = live.finish();
/// assert_eq!(totals.peak_bytes, 64);
/// // It was freed twice.
/// assert_eq!(faults[0].origin.number, 3);
/// assert_eq!(faults[0].cause, FaultCause::NotLive { pointer: 0x1000 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Live {
    /// The latest allocation, by session and address.
    blocks: HashMap<Key, Block>,
    /// Earlier allocations at the same address that are still live, the oldest first.
    displaced: HashMap<Key, Vec<Block>>,
    free_slots: Vec<u32>,
    slots: u32,
    totals: Totals,
    faults: Vec<Fault>,
}

/// Session and address.
type Key = (u64, u64);

/// The maximum number of listed faults; further ones are only counted.
const MAX_LISTED: usize = 1000;

#[derive(Debug)]
struct Block {
    slot: u32,
    size: u64,
    /// Number of the event that allocated it.
    since: u64,
    /// The event that allocated at the same address later.
    displaced_by: Option<Box<Origin>>,
}

impl Live {
    /// Creates a state without live memory.
    pub fn new() -> Live {
        Live::default()
    }

    /// Creates a state with capacity for this number of pieces of memory, so that no table grows.
    pub fn with_capacity(blocks: usize) -> Live {
        let mut live = Live { free_slots: vec![0; blocks], ..Live::default() };
        live.free_slots.clear();
        // Write to the memory, so that the resident memory does not grow later.
        live.blocks = (0..blocks as u64)
            .map(|n| ((n, n), Block { slot: 0, size: 0, since: 0, displaced_by: None }))
            .collect();
        live.blocks.clear();
        live
    }

    /// Takes the next event, and returns the operation to replay, if there is one.
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

    /// Returns the counts so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Ends the recording, and returns the faults that were found, at most a thousand, in the order
    /// of events. Memory that is live at the end is not a fault.
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

    /// Removes the memory that an event frees or moves. `size` is the size in the event.
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

    /// Removes one of several pieces of memory at the address. Chooses by the event's size, then
    /// one whose address another thread has allocated since, then the latest.
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

/// Returns the fault of the event that allocated this memory while it was live, if there is one.
fn double((_, pointer): Key, block: &Block) -> Option<Fault> {
    let origin = **block.displaced_by.as_ref()?;
    Some(Fault { origin, cause: FaultCause::Live { pointer, since: block.since } })
}
