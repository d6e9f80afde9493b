//! The hot path: an event of a thread goes into the thread's block for the event's kind.
//!
//! A lane is claimed by a flag while its thread is inside it. A signal handler that interrupts an
//! emission finds the flag set and counts its event as lost; in any other lane it records as ever.
//! Everything is the thread's own, so nothing is locked and nothing shared is written but the word
//! that publishes the block's committed length.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::hint::cold_path;
use core::ptr::{NonNull, null_mut};
use std::thread::LocalKey;

use telemetry_format::put::{self, MAX_VARINT};
use telemetry_format::state;

use crate::block::Block;
use crate::clock;
use crate::fields::{Fields, Raw};
use crate::record::LaneRecord;
use crate::refill::refill;
use crate::registry::Registry;
use crate::sync::{AtomicBool, AtomicPtr, Ordering, compiler_fence};
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
    /// Where the next event goes; null without a block.
    pub(crate) cursor: Cell<*mut u8>,
    /// End of the block's payload; null without a block.
    pub(crate) limit: Cell<*mut u8>,
    pub(crate) block: Cell<*mut Block>,
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
            cursor: Cell::new(null_mut()),
            limit: Cell::new(null_mut()),
            block: Cell::new(null_mut()),
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

    /// Ends the claim.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        compiler_fence(Ordering::SeqCst);
        self.busy.store(false, Ordering::Relaxed);
    }

    /// The block being written.
    pub(crate) fn block(&self) -> Option<NonNull<Block>> {
        NonNull::new(self.block.get())
    }

    fn room(&self) -> usize {
        (self.limit.get() as usize).wrapping_sub(self.cursor.get() as usize)
    }
}

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

/// Records an event. The caller has tested that it is on.
///
/// `KIND` is the index of the event's kind; with `INHERIT` the event takes the thread's latest clock
/// reading instead of a new one.
#[inline(always)]
pub fn record<const KINDS: usize, const SLOTS: usize, const KIND: usize, const INHERIT: bool>(
    local: &'static LocalKey<Lanes<KINDS, SLOTS>>,
    registry: &'static Registry,
    site: Site,
    fields: impl Fields<SLOTS>,
) {
    const { assert!(KIND < KINDS, "the kind is one of the registry's") };
    // `with` around the whole body is not inlined; around this it is.
    // SAFETY: a thread-local without a destructor lives until its thread is gone.
    let all = unsafe { &*local.with(core::ptr::from_ref) };
    let lane = &all.lanes[KIND];
    if !lane.enter() {
        return nested(lane);
    }
    // Code, time, parameters.
    let need = 3 + MAX_VARINT + fields.bound();
    if lane.room() < need {
        cold_path();
        let view = View { time: &all.time, lanes: &all.lanes, slots: &all.slots, link: &all.link };
        if !refill(view, KIND, registry, site, need) {
            return lane.leave();
        }
    }
    let time = if INHERIT {
        all.time.get()
    } else {
        let time = clock::ticks();
        all.time.set(time);
        time
    };
    let start = lane.cursor.get();
    let out = put::unsigned(Raw(start), u64::from(site.code));
    let out = put::unsigned(out, time.wrapping_sub(lane.time.replace(time)));
    let out = fields.put(out, &all.slots);
    lane.cursor.set(out.0);
    // SAFETY: with room for an event the lane has a block, which is the lane's until sealed.
    let word = unsafe { &(*lane.block.get()).state };
    let len = out.0 as usize - start as usize;
    let next = word.load(Ordering::Relaxed).wrapping_add(state::pack(len as u32, 1));
    // Release: whoever sees the length sees the bytes.
    word.store(next, Ordering::Release);
    if fields.cut() > 0 {
        cut(lane, fields.cut());
    }
    lane.leave();
}

/// Counts an event that interrupted an emission in its own lane.
#[cold]
#[inline(never)]
fn nested(lane: &Lane) {
    // SAFETY: a record lives as long as its lane points to it.
    match unsafe { lane.record.load(Ordering::Relaxed).as_ref() } {
        // A nested handler may count in between, hence the read-modify-write.
        Some(record) => record.nested.fetch_add(1, Ordering::Relaxed),
        None => crate::refill::STRAY_NESTED.fetch_add(1, Ordering::Relaxed),
    };
}

#[cold]
#[inline(never)]
fn cut(lane: &Lane, times: u64) {
    // SAFETY: as in `nested`.
    if let Some(record) = unsafe { lane.record.load(Ordering::Relaxed).as_ref() } {
        crate::record::count(&record.cut, times);
    }
}
