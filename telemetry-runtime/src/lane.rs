//! The hot path: an event of a thread goes into the thread's block for the event's kind.
//!
//! A lane is claimed by a flag while its thread is inside it. A signal handler that interrupts an
//! emission finds the flag set and counts its event as lost; in any other lane it records as ever.
//! Everything is the thread's own, so nothing is locked and nothing shared is written but the word
//! that publishes the block's committed length.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::{NonNull, null_mut};
use std::thread::LocalKey;

use telemetry_format::put::{self, MAX_VARINT};
use telemetry_format::state;

use crate::block::Block;
use crate::clock;
use crate::fields::Fields;
use crate::raw::Raw;
use crate::record::LaneRecord;
use crate::refill::refill;
use crate::registry::Registry;
use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, Ordering, compiler_fence};
use crate::thread::Link;

/// The lanes of one thread for one registry. The macro makes a thread-local of it.
///
/// Without a destructor, so that it can be used while the thread's other thread-locals are being
/// destroyed; the runtime's own hook closes the lanes.
pub struct Lanes<const KINDS: usize, const SLOTS: usize> {
    /// The thread's latest clock reading, for kinds that inherit it.
    time: Cell<u64>,
    lanes: [Lane; KINDS],
    /// The last values of all delta parameters.
    slots: [Cell<u64>; SLOTS],
    link: Link,
}

impl<const KINDS: usize, const SLOTS: usize> Lanes<KINDS, SLOTS> {
    /// Lanes without blocks.
    #[doc(hidden)]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Lanes {
            time: Cell::new(0),
            lanes: [const { Lane::new() }; KINDS],
            slots: [const { Cell::new(0) }; SLOTS],
            link: Link::new(),
        }
    }
}

/// One lane of a thread.
pub(crate) struct Lane {
    /// Set while the thread is inside the lane.
    busy: AtomicBool,
    /// Where the block's next event goes.
    at: Cell<*mut u8>,
    /// The address that the fast path may write up to. That of `at` or less without a block, and always where the clock is
    /// the system's.
    limit: Cell<usize>,
    /// What makes the block's state word of that address. Both are kept here so that an event writes at once, and need not
    /// wait for the block's address, and then for its word.
    bias: Cell<u64>,
    /// The block being written, or `NO_BLOCK`.
    block: Cell<*const Block>,
    /// The time of the lane's last event, or of the block's opening.
    pub(crate) time: Cell<u64>,
    /// Null until the lane's first event. Atomic for the signal handler that finds the lane busy.
    pub(crate) record: AtomicPtr<LaneRecord>,
    /// Pages of the next block.
    pub(crate) pages: Cell<usize>,
    /// Wall-clock time of the block's opening.
    pub(crate) opened: Cell<u64>,
}

impl Lane {
    const fn new() -> Self {
        Lane {
            busy: AtomicBool::new(false),
            at: Cell::new(null_mut()),
            limit: Cell::new(0),
            bias: Cell::new(0),
            block: Cell::new(&raw const NO_BLOCK),
            time: Cell::new(0),
            record: AtomicPtr::new(null_mut()),
            pages: Cell::new(1),
            opened: Cell::new(0),
        }
    }

    /// Claims the lane for the caller, or says that this thread is inside it already.
    #[inline(always)]
    pub(crate) fn enter(&self) -> bool {
        if self.busy.load(Ordering::Relaxed) {
            return false;
        }
        self.busy.store(true, Ordering::Relaxed);
        // Only a signal handler of this very thread can see the flag, so the order that matters is
        // the compiler's: what follows is read after the claim.
        compiler_fence(Ordering::SeqCst);
        true
    }

    /// Ends the claim, with the caller's result.
    #[inline(always)]
    pub(crate) fn leave<T>(&self, result: T) -> T {
        compiler_fence(Ordering::SeqCst);
        self.busy.store(false, Ordering::Relaxed);
        result
    }

    /// The block being written, or `NO_BLOCK`.
    #[inline(always)]
    fn block(&self) -> &Block {
        // SAFETY: a lane's block is its own until sealed; `NO_BLOCK` is a static.
        unsafe { &*self.block.get() }
    }

    /// The block being written, if there is one.
    pub(crate) fn open_block(&self) -> Option<NonNull<Block>> {
        let block = self.block.get();
        if core::ptr::eq(block, &raw const NO_BLOCK) { None } else { NonNull::new(block.cast_mut()) }
    }

    /// Begins or ends a block.
    pub(crate) fn set_block(&self, block: Option<NonNull<Block>>) {
        let block = block.map_or(&raw const NO_BLOCK, |block| block.as_ptr());
        self.block.set(block);
        let state = self.block().state.own();
        let at = Block::end(block, state::unpack(state).0);
        self.at.set(at);
        self.bias.set(state.wrapping_sub(at.addr() as u64));
        let limit = Block::end(block, self.block().capacity() as u32).addr();
        self.limit.set(if clock::is_counter() { limit } else { 0 });
    }

    /// Commits an event that ends at `end`.
    #[inline(always)]
    fn commit(&self, end: *mut u8) {
        let bias = self.bias.get().wrapping_add(state::pack(0, 1));
        self.at.set(end);
        self.bias.set(bias);
        self.block().state.publish(bias.wrapping_add(end.addr() as u64));
    }

    /// True if the block has room for `need` more bytes.
    fn has_room(&self, need: usize) -> bool {
        let (len, _) = self.block().state.committed();
        len as usize + need <= self.block().capacity()
    }

    /// Adds to a counter of the lane's record. False if it has none yet.
    fn count(&self, counter: impl Fn(&LaneRecord) -> &AtomicU64, by: u64) -> bool {
        // SAFETY: a record lives as long as its lane points to it.
        let record = unsafe { self.record.load(Ordering::Relaxed).as_ref() };
        // A signal handler of this thread may count in between, hence the read-modify-write.
        record.map(|record| counter(record).fetch_add(by, Ordering::Relaxed)).is_some()
    }
}

/// Stands where there is no block, so that the fast path need not ask.
static NO_BLOCK: Block = Block::NONE;

/// The parts of a thread's lanes that the cold side needs, without their numbers as types.
#[derive(Clone, Copy)]
pub(crate) struct View<'l> {
    pub(crate) time: &'l Cell<u64>,
    pub(crate) lanes: &'l [Lane],
    pub(crate) slots: &'l [Cell<u64>],
    pub(crate) link: &'l Link,
}

/// What the macro knows of an event at compile time.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    /// The number on the wire.
    pub code: u16,
    /// The event's bit in the mask.
    pub index: u16,
}

/// Most bytes of an event's code and time.
const PREFIX: usize = 3 + MAX_VARINT;

/// Records an event if all is as usual: the lane is free and has room, no value takes more than four
/// bytes, the clock is the cycle counter. Otherwise does nothing and returns false, and
/// [`record_long`] must be called. The caller has tested that the event is on.
///
/// `KIND` is the index of the event's kind; with `INHERIT` the event takes the thread's latest clock
/// reading instead of a new one.
///
/// There is no call in it, and the macro calls `record_long` last, so that the emitter needs no
/// frame and saves no register.
#[inline(always)]
pub fn record<const KINDS: usize, const SLOTS: usize, const KIND: usize, const INHERIT: bool>(
    local: &'static LocalKey<Lanes<KINDS, SLOTS>>,
    site: Site,
    fields: impl Fields<SLOTS>,
) -> bool {
    const { assert!(KIND < KINDS, "the kind is one of the registry's") };
    let all = get(local);
    let lane = &all.lanes[KIND];
    // First of all: on processors where the counter waits for what precedes it, less does. Should a signal handler
    // record a later time in between, the distance to it is not short, and `record_long` reads the clock again.
    let reading = (!INHERIT).then(clock::counter);
    if !lane.enter() {
        return false;
    }
    let at = lane.at.get();
    if at.addr().wrapping_add(PREFIX + fields.bound()) > lane.limit.get() {
        return lane.leave(false);
    }
    let time = reading.unwrap_or_else(|| all.time.get());
    let out = put::short_pair(Raw::new(at), site.code, time.wrapping_sub(lane.time.get()));
    let Some(out) = out.and_then(|out| fields.put_short(out, &all.slots)) else {
        return lane.leave(false);
    };
    fields.keep(&all.slots);
    lane.time.set(time);
    if !INHERIT {
        all.time.set(time);
    }
    lane.commit(out.end());
    lane.leave(true)
}

/// Records an event in all other cases.
#[inline(always)]
pub fn record_long<const KINDS: usize, const SLOTS: usize, const KIND: usize, const INHERIT: bool>(
    local: &'static LocalKey<Lanes<KINDS, SLOTS>>,
    registry: &'static Registry,
    site: Site,
    fields: impl Fields<SLOTS>,
) {
    let all = get(local);
    let lane = &all.lanes[KIND];
    if !lane.enter() {
        return nested(lane);
    }
    let need = PREFIX + fields.bound();
    let view = View { time: &all.time, lanes: &all.lanes, slots: &all.slots, link: &all.link };
    if lane.has_room(need) || refill(view, KIND, registry, site, need) {
        // One reading for all: a signal handler may take a later one in between, and that may make an
        // inherited time one that the lane is past already.
        let time = if INHERIT { all.time.get() } else { clock::ticks() };
        let time = time.max(lane.time.get());
        all.time.set(time);
        let out = put::unsigned(Raw::new(lane.at.get()), u64::from(site.code));
        let out = put::unsigned(out, time.wrapping_sub(lane.time.get()));
        let out = fields.put(out, &all.slots);
        lane.time.set(time);
        lane.commit(out.end());
        if fields.cut() > 0 {
            lane.count(|record| &record.cut, fields.cut());
        }
    }
    lane.leave(());
}

/// The thread's lanes. `with` around more than this would not be inlined.
#[inline(always)]
fn get<const KINDS: usize, const SLOTS: usize>(
    local: &'static LocalKey<Lanes<KINDS, SLOTS>>,
) -> &'static Lanes<KINDS, SLOTS> {
    // SAFETY: a thread-local without a destructor lives until its thread is gone, and nothing here
    // hands the reference to another thread.
    unsafe { &*local.with(core::ptr::from_ref) }
}

/// Counts an event that interrupted an emission in its own lane.
#[cold]
#[inline(never)]
fn nested(lane: &Lane) {
    if !lane.count(|record| &record.nested, 1) {
        crate::refill::STRAY_NESTED.fetch_add(1, Ordering::Relaxed);
    }
}
