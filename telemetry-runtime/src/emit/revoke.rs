//! Stops quiet lanes, so that the drain can seal their blocks. Their memory goes back to the lanes
//! that need it, whatever the number of threads.
//!
//! The drain takes three steps for all lanes together. It marks the address that each lane writes
//! to next. It makes one barrier through all threads of the process. Then it checks which threads
//! are inside their lanes. A lane is stopped if its thread is outside and its mark still stands.
//! The thread meets the mark before it writes again, and then begins another block. See
//! [`crate::sync::gate`].
#![allow(unsafe_code)]

use core::ptr::{NonNull, null_mut};

use crate::emit::lane::Lane;
use crate::memory::block::Block;
use crate::memory::record::LaneRecord;
use crate::sync::spin::{Spin, SpinGuard};
use crate::sys;
use crate::sys::atomic::{AtomicU8, Ordering};

/// The owner of this lock may follow records to their lanes, which are in the memory of their
/// threads.
static STOPPING: Spin = Spin::new();
/// Whether the process has a barrier for all its threads: one of the three values below.
static BARRIER: AtomicU8 = AtomicU8::new(UNTRIED);
const UNTRIED: u8 = 0;
const READY: u8 = 1;
const ABSENT: u8 = 2;

/// The right to follow records to lanes.
pub(crate) type Lock = SpinGuard<'static>;

/// Takes the lock, before a fork. Returns `None` if it is not free soon.
pub(crate) fn hold() -> Option<Lock> {
    STOPPING.lock(sys::me()).ok()
}

/// Registers the process for barriers, at the first call. That may take some milliseconds, so the
/// drain's thread does it, or a flush that is short of memory before that thread has run.
pub(crate) fn begin() {
    if BARRIER.load(Ordering::Relaxed) == UNTRIED {
        let is_ready = usize::BITS == 64 && sys::register_barrier();
        BARRIER.store(if is_ready { READY } else { ABSENT }, Ordering::Relaxed);
    }
}

/// Forgets the registration, in the child of a fork.
pub(crate) fn forget() {
    BARRIER.store(UNTRIED, Ordering::Relaxed);
}

/// Returns true if lanes can be stopped.
pub(crate) fn is_possible() -> bool {
    BARRIER.load(Ordering::Relaxed) == READY
}

/// Allows the drain to stop a lane from now on. The lane's thread calls [`forbid`] before it ends.
pub(crate) fn allow(record: &LaneRecord, lane: &Lane) {
    record.lane.store(core::ptr::from_ref(lane).cast_mut().cast(), Ordering::Release);
}

/// Makes the drain leave the lane of an ending thread alone. Waits while the drain uses it.
pub(crate) fn forbid(record: &LaneRecord) {
    if !record.lane.load(Ordering::Relaxed).is_null() {
        let _lanes = STOPPING.wait(sys::me());
        record.lane.store(null_mut(), Ordering::Relaxed);
    }
}

/// Stops the lanes of open blocks, which are pinned. Returns the blocks whose lanes are stopped.
/// Those lanes do not write to them any more.
pub(crate) fn stop(open: impl Iterator<Item = NonNull<Block>>) -> Vec<NonNull<Block>> {
    let mut stopped: Vec<_> = if is_possible() { open.collect() } else { Vec::new() };
    if stopped.is_empty() {
        return stopped;
    }
    let Ok(_lanes) = STOPPING.lock(sys::me()) else { return Vec::new() };
    stopped.retain(|block| {
        // SAFETY: the block is pinned.
        let record = unsafe { block.as_ref() }.record();
        let lane = lane(record).filter(|_| record.open.get() == Some(*block));
        lane.inspect(|lane| lane.gate.mark()).is_some()
    });
    if !sys::barrier() {
        // The marks stay, and each costs its lane one block.
        BARRIER.store(ABSENT, Ordering::Relaxed);
        return Vec::new();
    }
    // SAFETY: as above.
    stopped
        .retain(|block| lane(unsafe { block.as_ref() }.record()).is_some_and(|lane| lane.gate.is_stopped()));
    stopped
}

/// Returns the lane of a record. The caller has the lock.
fn lane(record: &LaneRecord) -> Option<&Lane> {
    // SAFETY: a lane exists until its thread has taken it out of the record, for which it waits for
    // the lock.
    unsafe { record.lane.load(Ordering::Acquire).cast::<Lane>().as_ref() }
}
