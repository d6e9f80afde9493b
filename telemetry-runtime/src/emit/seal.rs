//! The end of a block, which goes to the drain when it is full or when its thread ends.
#![allow(unsafe_code)]

use core::ptr::null_mut;

use crate::emit::lane::Lane;
use crate::emit::revoke;
use crate::memory::lanes::LANES;
use crate::memory::pool::give_tail;
use crate::run::wake::wake;
use crate::store::sealed::STORE;
use crate::sys::atomic::Ordering;

/// Hands the lane's block to the drain, if there is one that the drain has not sealed. The caller
/// has entered the lane.
pub(crate) fn seal(lane: &Lane) {
    let Some(block) = lane.open_block() else { return };
    let (len, events) = lane.committed();
    lane.set_block(None);
    // SAFETY: a lane with a block has a record, and owns it until `seal_all` forgets it.
    let Some(record) = (unsafe { lane.record.load(Ordering::Relaxed).as_ref() }) else { return };
    let recorded = record.before.load(Ordering::Relaxed) + u64::from(events);
    record.before.store(recorded, Ordering::Relaxed);
    // If the drain was first, this thread must not read the block, which may be another lane's by
    // now.
    if record.turn.claim(record.seq.load(Ordering::Relaxed).wrapping_sub(1)) {
        // SAFETY: this thread owns the block until it hands it over.
        let sealed = unsafe { block.as_ref() };
        sealed.set_end_ticks(lane.time.get());
        record.count_sealed(recorded);
        give_tail(sealed, len as usize);
        STORE.hand_over(block);
    }
}

/// Forgets all lanes of this thread, since their blocks belong to another process. Returns false if
/// the thread is inside one.
pub(crate) fn forget_all(lanes: &[Lane]) -> bool {
    lanes.iter().all(|lane| {
        lane.enter() && {
            lane.set_block(None);
            lane.record.store(null_mut(), Ordering::Relaxed);
            lane.leave(true)
        }
    })
}

/// Seals all lanes of an ending thread.
pub(crate) fn seal_all(lanes: &[Lane]) {
    for lane in lanes {
        let is_outside = lane.enter();
        if is_outside {
            seal(lane);
        }
        // SAFETY: as in `record`; after `close` this thread does not use it.
        if let Some(record) = unsafe { lane.record.load(Ordering::Relaxed).as_ref() } {
            // The memory of the lane is freed with its thread, even if the thread ends inside an
            // emission.
            revoke::forbid(record);
            if is_outside {
                lane.record.store(null_mut(), Ordering::Relaxed);
                LANES.close(record);
            }
        }
        if is_outside {
            lane.leave(());
        }
    }
    if LANES.is_crowded() {
        wake();
    }
}
