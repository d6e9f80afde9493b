//! A thread's lanes: where the next event of each kind goes.
//!
//! While its thread is inside a lane, the lane's flag is set. A signal handler that interrupts an
//! emission finds the flag set and counts its event as lost. In any other lane it records as usual.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ptr::{NonNull, null, null_mut};

use telemetry_format::state;

#[cfg(feature = "testing")]
use crate::emit::position::LanePosition;
use crate::memory::account::Account;
use crate::memory::block::{Block, Head};
use crate::memory::record::LaneRecord;
use crate::memory::registry::Registry;
use crate::run::clock;
use crate::sync::gate::{self, Gate};
use crate::sys::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The lanes of one thread for one registry. The macro makes a thread-local of it.
///
/// It has no destructor, so that it can be used while the thread's other thread-locals are
/// destroyed. The runtime's own hook closes the lanes.
pub struct Lanes<const KINDS: usize, const SLOTS: usize> {
    /// The latest clock reading of the thread, for kinds that inherit it.
    pub(super) time: Cell<u64>,
    pub(super) lanes: [Lane; KINDS],
    /// The last values of all delta parameters.
    pub(super) slots: [Cell<u64>; SLOTS],
    pub(super) link: Link,
}

impl<const KINDS: usize, const SLOTS: usize> Lanes<KINDS, SLOTS> {
    /// Creates lanes without blocks.
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

    /// Returns the lane of a kind.
    pub(crate) fn lane(&self, kind: usize) -> &Lane {
        &self.lanes[kind]
    }
}

/// One lane of a thread.
pub(crate) struct Lane {
    /// The flag that the thread is inside, and the address of the block's next event. The address
    /// is beyond the limit if the drain has stopped the lane.
    pub(crate) gate: Gate<u8>,
    /// The lowest address at which an event of `MARGIN` bytes has no room. It is zero while there
    /// is no block, and always if the clock is the system's.
    pub(super) limit: Cell<usize>,
    /// The difference between the block's state word and the address. With both in the lane, an
    /// event writes at once. It need not wait for the block's address and then for its state word.
    bias: Cell<u64>,
    /// The head of the open block in the pool's memory, or `NO_BLOCK`.
    head: Cell<*const Head>,
    /// The block, or null.
    block: Cell<*const Block>,
    /// The time of the lane's last event, or that of the opening of the block.
    pub(crate) time: Cell<u64>,
    /// Null until the lane's first event. Atomic, since a signal handler may find the lane busy.
    pub(crate) record: AtomicPtr<LaneRecord>,
    /// Number of pages of the next block.
    pub(crate) pages: Cell<usize>,
    /// Wall-clock time when the block was opened.
    pub(crate) opened: Cell<u64>,
}

impl Lane {
    const fn new() -> Self {
        Lane {
            gate: Gate::new(),
            limit: Cell::new(0),
            bias: Cell::new(0),
            head: Cell::new(&raw const NO_BLOCK),
            block: Cell::new(null_mut()),
            time: Cell::new(0),
            record: AtomicPtr::new(null_mut()),
            pages: Cell::new(1),
            opened: Cell::new(0),
        }
    }

    /// Enters the lane. Returns false if this thread is inside it already.
    #[inline(always)]
    pub(crate) fn enter(&self) -> bool {
        self.gate.enter()
    }

    /// Leaves the lane, and passes the caller's result through.
    #[inline(always)]
    pub(crate) fn leave<T>(&self, result: T) -> T {
        self.gate.leave(result)
    }

    /// Returns the open block, if there is one. The drain may have sealed it, and it may be another
    /// lane's by now.
    pub(crate) fn open_block(&self) -> Option<NonNull<Block>> {
        NonNull::new(self.block.get().cast_mut())
    }

    /// Begins a block, or ends the block.
    pub(crate) fn set_block(&self, block: Option<&Block>) {
        let head = block.map_or(&raw const NO_BLOCK, |block| block.head().cast_const());
        self.block.set(block.map_or(null_mut(), core::ptr::from_ref));
        self.head.set(head);
        let at = Head::end(head, 0);
        // Nothing is committed in a new block.
        self.bias.set(0_u64.wrapping_sub(at.addr() as u64));
        let end = |block: &Block| Head::end(head, block.capacity() as u32).addr();
        let limit = block.filter(|_| clock::is_counter()).map_or(0, |block| end(block) - MARGIN + 1);
        self.limit.set(limit);
        self.gate.set(at);
    }

    /// Returns the payload length and the number of events that the lane has committed in its
    /// block. Reads only the lane, since the drain may have sealed the block.
    pub(crate) fn committed(&self) -> (u32, u32) {
        let at = gate::unmarked(self.gate.at()).addr() as u64;
        state::unpack(self.bias.get().wrapping_add(at))
    }

    /// Commits an event that ends at `end`.
    #[inline(always)]
    pub(super) fn commit(&self, end: *mut u8) {
        let bias = self.bias.get().wrapping_add(state::pack(0, 1));
        self.gate.set(end);
        self.bias.set(bias);
        // SAFETY: the lane owns its block until it is sealed, and only the thread inside seals it;
        // or it is `NO_BLOCK`, a static.
        let head = unsafe { &*self.head.get() };
        head.state.publish(bias.wrapping_add(end.addr() as u64));
    }

    /// Returns true if the drain has not stopped the lane, and its block has room for `need` more
    /// bytes.
    pub(super) fn has_room(&self, need: usize) -> bool {
        // SAFETY: as in `commit`: if the thread inside sees no mark, the lane owns its block.
        let capacity = || unsafe { self.block.get().as_ref() }.map_or(0, Block::capacity);
        !gate::is_marked(self.gate.at()) && self.committed().0 as usize + need <= capacity()
    }

    /// Returns the number of events that were recorded in the lane, if it is one of a registry. For
    /// the lane's thread, outside of the lane.
    pub(super) fn recorded(&self, registry: &Registry) -> Option<u64> {
        // SAFETY: a record lives as long as its lane points to it.
        let record = unsafe { self.record.load(Ordering::Relaxed).as_ref() }?;
        let is_of = core::ptr::eq(record.owner().registry, registry);
        let open = if self.open_block().is_some() { self.committed().1 } else { 0 };
        is_of.then(|| record.before.load(Ordering::Relaxed) + u64::from(open))
    }

    /// Returns how far the lane is, if it has recorded anything. For the lane's thread, outside of
    /// the lane.
    #[cfg(feature = "testing")]
    pub(super) fn position(&self) -> Option<LanePosition> {
        // SAFETY: as in `recorded`.
        let record = unsafe { self.record.load(Ordering::Relaxed).as_ref() }?;
        let (owner, lost) = (record.owner(), record.lost());
        Some(LanePosition {
            registry: owner.registry.def().fingerprint,
            kind: owner.kind,
            thread: owner.thread,
            recorded: self.recorded(owner.registry)?,
            lost_pool: lost.pool,
            lost_reentrant: lost.reentrant,
        })
    }

    /// Adds to a counter of the lane's account. Returns false if the lane has no record yet.
    pub(super) fn count(&self, counter: impl Fn(&Account) -> &AtomicU64, by: u64) -> bool {
        // SAFETY: a record lives as long as its lane points to it.
        let record = unsafe { self.record.load(Ordering::Relaxed).as_ref() };
        // A signal handler of this thread may count in between, hence the read-modify-write.
        record.map(|record| counter(record.account()).fetch_add(by, Ordering::Relaxed)).is_some()
    }
}

/// The room that the fast path keeps at the end of a block. Most events need less, and then the
/// address of the next event is compared as it is.
pub(super) const MARGIN: usize = 64;

/// A head for lanes without a block, so that the fast path need not check for one.
static NO_BLOCK: Head = Head::NONE;

/// The parts of a thread's lanes that the cold code needs, without the numbers in their type.
#[derive(Clone, Copy)]
pub(crate) struct View<'l> {
    pub(crate) time: &'l Cell<u64>,
    pub(crate) lanes: &'l [Lane],
    pub(crate) slots: &'l [Cell<u64>],
    pub(crate) link: &'l Link,
}

/// Links the lanes of one registry into the list of their thread.
pub(crate) struct Link {
    pub(super) lanes: Cell<*const [Lane]>,
    pub(super) next: Cell<*const Link>,
}

impl Link {
    pub(crate) const fn new() -> Self {
        Link { lanes: Cell::new(&[]), next: Cell::new(null()) }
    }
}

/// The data of an event that the macro knows at compile time, with the number of its kind, and
/// whether it inherits its time. The macro names the type once for each kind: the compiler takes
/// long to check a constant in a type.
#[derive(Debug, Clone, Copy)]
pub struct Site<const KIND: usize, const INHERIT: bool> {
    /// The event's code in the stream.
    pub code: u16,
    /// The index of the event's bit in the mask.
    pub index: u16,
}
