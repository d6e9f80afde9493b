//! Interned strings and the labels of addresses: a lane without a thread, whose blocks stay in
//! memory.
//!
//! So every stream can contain all labels from the beginning, and a memory image shows them. Blocks
//! are mapped one by one, without the program's allocator. Strings are found without a lock. New
//! ones are appended under a lock, for which a signal handler on the same thread does not wait.
#![allow(unsafe_code)]

use core::hash::Hasher;
use core::ptr::{NonNull, null_mut};
use std::hash::DefaultHasher;

use telemetry_format::put::{self, MAX_VARINT, Put};
use telemetry_format::{BlockType, Cursor, Header, Label, Loss, flags, state};

use super::block::{BLOCK, Block, CAPACITY, Head};
use super::table::{LOCATION_BITS, Table};
use crate::memory::mapping;
use crate::own::registry as own;
use crate::run::clock;
use crate::run::state as run_state;
use crate::store::progress::sum;
use crate::sync::spin::{Spin, SpinGuard};
use crate::sys;
use crate::sys::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Maximum number of blocks of a store, in all 64 MiB.
pub(crate) const MAX_BLOCKS: usize = 1 << (LOCATION_BITS - OFFSET_BITS);

/// Number of bits of an offset in a block.
const OFFSET_BITS: u32 = BLOCK.trailing_zeros();
/// Maximum length of an event's code and time.
const PREFIX: usize = 3 + MAX_VARINT;

const _: () = assert!(PREFIX + 2 * MAX_VARINT + own::MAX_STRING <= CAPACITY);

/// A delta slot of the lane: the last value of a parameter in the open block.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))),
    allow(dead_code)
)]
pub(crate) enum Slot {
    /// Of `LabelAddress`.
    Address,
    /// Of `Stack`: the first frame.
    Frames,
    /// Of `Module`.
    Base,
    End,
}

const SLOTS: usize = 4;

/// The lane, and the table of its strings.
pub(crate) struct Store {
    /// The lock for appending.
    lock: Spin,
    blocks: [AtomicPtr<Head>; MAX_BLOCKS],
    /// Number of blocks that are open or sealed. All but the last are sealed.
    opened: AtomicUsize,
    /// Maximum number of blocks.
    limit: usize,
    /// The state word of the last block.
    state: AtomicU64,
    table: Table,
    /// Keeps those who choose the strings from choosing their places in the table; 0 is none yet.
    seed: AtomicU64,
    /// The last number that was assigned.
    labels: AtomicU64,
    /// The time of the last event, and the delta slots of the open block.
    time: AtomicU64,
    slots: [AtomicU64; SLOTS],
    lost_pool: AtomicU64,
    lost_reentrant: AtomicU64,
    truncated: AtomicU64,
}

/// How much of a store a stream contains. The default is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    block: usize,
    len: u32,
    events: u32,
    /// The sum of the losses.
    lost: u64,
}

impl Store {
    /// Creates an empty store with a maximum number of blocks.
    pub(crate) const fn new(limit: usize) -> Store {
        assert!(limit <= MAX_BLOCKS);
        Store {
            lock: Spin::new(),
            blocks: [const { AtomicPtr::new(null_mut()) }; MAX_BLOCKS],
            opened: AtomicUsize::new(0),
            limit,
            state: AtomicU64::new(0),
            table: Table::new(),
            seed: AtomicU64::new(0),
            labels: AtomicU64::new(0),
            time: AtomicU64::new(0),
            slots: [const { AtomicU64::new(0) }; SLOTS],
            lost_pool: AtomicU64::new(0),
            lost_reentrant: AtomicU64::new(0),
            truncated: AtomicU64::new(0),
        }
    }

    /// Returns the label of an interned string.
    pub(crate) fn known(&self, text: &str) -> Option<Label> {
        let text = put::truncate(text, own::MAX_STRING);
        self.find(text, self.hash(text))
    }

    /// Returns the label of a string, and assigns a new one at first. Returns `Label::NONE`, and
    /// counts that, if there is no more room, or if this code interrupts the thread that appends.
    pub(crate) fn intern(&self, text: &str) -> Label {
        let kept = put::truncate(text, own::MAX_STRING);
        let hash = self.hash(kept);
        if let Some(label) = self.find(kept, hash) {
            return label;
        }
        let Some(_lock) = self.lock() else {
            self.count_reentrant();
            return Label::NONE;
        };
        // Another thread may have been faster.
        if let Some(label) = self.find(kept, hash) {
            return label;
        }
        let label = self.labels.load(Ordering::Relaxed) + 1;
        let place = || {
            if !self.table.reserve(label) {
                return None;
            }
            let put = |out| put::bytes(put::unsigned(out, label), kept.as_bytes());
            self.append(own::INTERN, 2 * MAX_VARINT + kept.len(), put)
        };
        let Some(location) = place() else {
            self.count_full();
            return Label::NONE;
        };
        self.labels.store(label, Ordering::Relaxed);
        self.table.insert(hash, location);
        if kept.len() < text.len() {
            self.truncated.fetch_add(1, Ordering::Relaxed);
        }
        Label(label)
    }

    /// Labels an address. Counts a loss if that is impossible.
    pub(crate) fn label(&self, address: u64, label: Label) {
        let Some(_lock) = self.lock() else { return self.count_reentrant() };
        let put = |out| {
            let out = put::delta(out, self.slot(Slot::Address), address);
            put::unsigned(out, label.0)
        };
        match self.append(own::LABEL_ADDRESS, 2 * MAX_VARINT, put) {
            Some(_) => self.set_slot(Slot::Address, address),
            None => self.count_full(),
        }
    }

    /// Counts a label that could not be made because this thread must not wait here.
    pub(crate) fn count_reentrant(&self) {
        self.lost_reentrant.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an event for which there was no room.
    pub(crate) fn count_full(&self) {
        self.lost_pool.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the value of a slot in the open block.
    pub(crate) fn slot(&self, slot: Slot) -> u64 {
        self.slots[slot as usize].load(Ordering::Relaxed)
    }

    /// Sets a slot, after an event was appended. The caller has the lock.
    pub(crate) fn set_slot(&self, slot: Slot, value: u64) {
        self.slots[slot as usize].store(value, Ordering::Relaxed);
    }

    /// Returns the next part that a stream at `position` does not contain yet: its header, without
    /// checksum, and its payload. Events that are added meanwhile come now or at the next call. The
    /// session is that of the blocks.
    pub(crate) fn next_part(&self, position: &mut Position) -> Option<(Header, &'static [u8])> {
        loop {
            let Some(block) = self.block(position.block) else { return self.losses(position) };
            // Before the state, which is final if the block is sealed.
            let sealed = block.sealed();
            let (len, events) = block.committed();
            let Position { len: taken, events: before, .. } = *position;
            match sealed {
                Some(_) => *position = Position { block: position.block + 1, len: 0, events: 0, ..*position },
                None => *position = Position { len, events, ..*position },
            }
            if taken == len {
                if sealed.is_some() {
                    continue;
                }
                return self.losses(position);
            }
            let lost = self.lost();
            position.lost = sum(&lost);
            let opened = block.header();
            let header = Header {
                flags: if sealed.is_some() { flags::LAST } else { 0 },
                payload_len: len - taken,
                unpacked_len: len - taken,
                events: events - before,
                offset: taken,
                before: opened.before + u64::from(before),
                end_ticks: sealed.unwrap_or_else(|| self.now()),
                lost,
                ..opened
            };
            return Some((header, block.payload(taken, len)));
        }
    }

    /// Begins a new session, in the child of a fork. The labels are those of the parent. The blocks
    /// are copied, because those of the parent may be in a file that the parent continues to write.
    /// No thread appends meanwhile.
    pub(crate) fn renew(&self, session: u64) {
        let opened = self.opened.load(Ordering::Acquire);
        for index in 0..opened {
            let Some(old) = self.block(index) else { return };
            let (len, events) = match index + 1 < opened {
                true => old.committed(),
                false => state::unpack(self.state.load(Ordering::Relaxed)),
            };
            let Some(at) = map() else {
                let rest = self.last().map_or(0, |last| last.header().before + u64::from(events));
                self.lost_pool.fetch_add(rest.saturating_sub(old.header().before), Ordering::Relaxed);
                self.opened.store(index, Ordering::Release);
                return;
            };
            let header = Header { session, ..old.header() };
            // SAFETY: the memory is new, has this length, and is never unmapped.
            let new = unsafe { Block::copy(at, &header, old.payload(0, len), events) };
            if let Some(end_ticks) = old.sealed().filter(|_| index + 1 < opened) {
                new.seal(end_ticks);
            }
            self.blocks[index].store(new.pointer().as_ptr(), Ordering::Release);
        }
    }

    /// Returns a part without events, if there are losses that the stream does not contain.
    fn losses(&self, position: &mut Position) -> Option<(Header, &'static [u8])> {
        let lost = self.lost();
        if position.lost == sum(&lost) {
            return None;
        }
        position.lost = sum(&lost);
        let opened = match self.block(position.block) {
            Some(block) => block.header(),
            None => self.opening(position.block),
        };
        let before = opened.before + u64::from(position.events);
        let header = Header { offset: position.len, before, end_ticks: self.now(), lost, ..opened };
        Some((header, &[]))
    }

    /// Appends an event of at most `need` bytes after its time, and returns the location of these
    /// bytes. Returns `None` if there is no room. The caller has the lock.
    pub(crate) fn append<'s>(
        &'s self,
        code: u16,
        need: usize,
        put: impl FnOnce(Room<'s>) -> Room<'s>,
    ) -> Option<u32> {
        let block = self.block_with(PREFIX + need)?;
        let (len, _) = block.committed();
        let last = self.time.load(Ordering::Relaxed);
        let time = clock::ticks().max(last);
        // SAFETY: the caller has the lock.
        let room = Room(unsafe { block.room() });
        let all = room.0.len();
        let room = put::unsigned(put::unsigned(room, u64::from(code)), time - last);
        let prefix = all - room.0.len();
        let room = put(room);
        self.time.store(time, Ordering::Relaxed);
        self.state.store(block.commit(all - room.0.len()), Ordering::Relaxed);
        let index = self.opened.load(Ordering::Relaxed) - 1;
        Some((index as u32) << OFFSET_BITS | (len + prefix as u32))
    }

    /// Returns the open block if it has `need` bytes of room, or a new one.
    fn block_with(&self, need: usize) -> Option<Block> {
        let last = self.last();
        if let Some(block) = last
            && block.sealed().is_none()
            && block.committed().0 as usize + need <= CAPACITY
        {
            return Some(block);
        }
        let index = self.opened.load(Ordering::Relaxed);
        if index == self.limit {
            return None;
        }
        let at = map()?;
        if let Some(block) = last
            && block.sealed().is_none()
        {
            block.seal(self.now());
        }
        let header = self.opening(index);
        self.time.store(header.base_ticks, Ordering::Relaxed);
        self.slots.iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
        self.state.store(0, Ordering::Relaxed);
        // SAFETY: the memory is new, has this length, and is never unmapped.
        let block = unsafe { Block::open(at, &header) };
        self.blocks[index].store(block.pointer().as_ptr(), Ordering::Release);
        self.opened.store(index + 1, Ordering::Release);
        Some(block)
    }

    /// Returns the header of a block with this number that is opened now, after all others.
    fn opening(&self, index: usize) -> Header {
        let moment = clock::now();
        let def = own::registry().def();
        let before = self.last().map_or(0, |last| last.header().before + u64::from(last.committed().1));
        Header {
            kind: own::LABEL_KIND,
            registry: def.fingerprint,
            seq: index as u32,
            base_ticks: moment.ticks.max(self.time.load(Ordering::Relaxed)),
            base_wall: moment.wall,
            before,
            lost: self.lost(),
            ..Header::new(BlockType::Events, run_state::session())
        }
    }

    /// Returns the label of a string with this hash.
    fn find(&self, text: &str, hash: u64) -> Option<Label> {
        self.table.find(hash, |location| {
            let block = self.block((location >> OFFSET_BITS) as usize)?;
            let offset = location & (BLOCK as u32 - 1);
            let mut event = Cursor::new(block.payload(offset, u32::MAX));
            let label = event.unsigned().ok()?;
            (event.bytes().ok()? == text.as_bytes()).then_some(Label(label))
        })
    }

    fn hash(&self, text: &str) -> u64 {
        let mut seed = self.seed.load(Ordering::Relaxed);
        if seed == 0 {
            let fresh = sys::random() | 1;
            let first = self.seed.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed);
            seed = first.map_or_else(|theirs| theirs, |_| fresh);
        }
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(seed);
        hasher.write(text.as_bytes());
        hasher.finish()
    }

    /// Takes the lock for appending. Returns `None` if this code interrupts its owner.
    pub(crate) fn lock(&self) -> Option<Lock<'_>> {
        self.lock.lock(sys::me()).ok()
    }

    fn last(&self) -> Option<Block> {
        self.block(self.opened.load(Ordering::Acquire).checked_sub(1)?)
    }

    pub(super) fn block(&self, index: usize) -> Option<Block> {
        if index >= self.opened.load(Ordering::Acquire) {
            return None;
        }
        let pointer = NonNull::new(self.blocks[index].load(Ordering::Acquire))?;
        // SAFETY: only `block_with` stores these pointers.
        Some(unsafe { Block::from_pointer(pointer) })
    }

    /// Returns the time, which is not before that of any committed event.
    fn now(&self) -> u64 {
        clock::ticks().max(self.time.load(Ordering::Relaxed))
    }

    pub(crate) fn lost(&self) -> Loss {
        Loss {
            pool: self.lost_pool.load(Ordering::Relaxed),
            reentrant: self.lost_reentrant.load(Ordering::Relaxed),
            truncated: self.truncated.load(Ordering::Relaxed),
            sink: 0,
        }
    }
}

/// Maps memory for a block.
fn map() -> Option<NonNull<u8>> {
    NonNull::new(mapping::map(BLOCK)?)
}

/// The right to append.
pub(crate) type Lock<'s> = SpinGuard<'s>;

/// Where the bytes of an event go. The caller has made sure that they fit.
pub(crate) struct Room<'b>(&'b mut [u8]);

impl Put for Room<'_> {
    fn array<const N: usize>(self, bytes: [u8; N]) -> Self {
        self.run(&bytes)
    }

    fn run(self, bytes: &[u8]) -> Self {
        let (first, rest) = self.0.split_at_mut(bytes.len());
        first.copy_from_slice(bytes);
        Room(rest)
    }
}
