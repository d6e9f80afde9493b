//! The cold half of the hot path: first use of a thread or registry, a full block, a dry pool.
#![allow(unsafe_code)]

use core::time::Duration;
use telemetry_format::{BlockType, Header};

use crate::control::switches::{self as control, Listed};
use crate::emit::lane::{Lane, View};
use crate::emit::revoke;
use crate::emit::seal::seal;
use crate::emit::thread::{self, Unattached};
use crate::memory::block::{Block, PAGE, Room, capacity};
use crate::memory::lanes::{LANES, Unclaimed};
use crate::memory::pool::{self, POOL};
use crate::memory::record::{LaneRecord, Owner};
use crate::memory::registry::Registry;
use crate::run::clock;
use crate::run::state;
use crate::run::state::Policy;
use crate::run::wake::{is_passing, wake};
use crate::store::counters::{self, Stray};
use crate::store::sealed::STORE;
use crate::sync::pages::CHUNK_PAGES;
use crate::sys;
use crate::sys::atomic::Ordering;

/// How long a lane waits for a snapshot that has pinned all blocks that could be evicted.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(50);
/// If a block fills within this many nanoseconds, the next one is larger.
const QUICK_FILL_NS: u64 = 100_000_000;
/// If a block lasts longer than this many nanoseconds, the next one is smaller.
const SLOW_FILL_NS: u64 = 2_000_000_000;

/// Makes room for `need` bytes in a lane that the caller has entered. Returns false if the event
/// cannot or must not be recorded, after it counts a loss.
#[cold]
#[inline(never)]
pub(crate) fn refill(
    view: View<'_>,
    kind: usize,
    registry: &'static Registry,
    index: u16,
    need: usize,
) -> bool {
    let lane = &view.lanes[kind];
    if lane.record.load(Ordering::Relaxed).is_null() {
        // Outside of the lane: to start a thread calls the C library's `malloc`. If that is the
        // program's, it may emit events of this lane, which are recorded first.
        lane.leave(());
        let is_on = prepare(registry, index);
        lane.enter();
        if !is_on {
            return false;
        }
        if lane.has_room(need) {
            return true;
        }
    }
    let record = match record(view, lane, kind, registry) {
        Ok(record) => record,
        Err(lost) => {
            counters::lose(lost);
            wake();
            return false;
        }
    };
    adapt(lane, record);
    let least = fitting(need);
    // Before the old block is handed over. This thread may sleep here while other threads fill the
    // pool, and its latest events must not be evicted meanwhile.
    record.turn.set_refilling(true);
    let at_once = least.and_then(|least| take_at_once(least, lane.pages.get()));
    seal(lane);
    let Some(room) = at_once.or_else(|| least.and_then(|least| take(least, lane.pages.get()))) else {
        record.account().pool.fetch_add(1, Ordering::Relaxed);
        wake();
        return false;
    };
    open(view, lane, kind, registry, record, room);
    true
}

/// Prepares the first event of a lane: puts the registry into use, and starts the runtime and the
/// drain's thread if need be. Returns false if the event is off, or after it counts a loss.
fn prepare(registry: &'static Registry, index: u16) -> bool {
    match control::list(registry) {
        Listed::Yes => {}
        Listed::Later => return false,
        Listed::No => {
            if !state::is_over() {
                counters::lose(Stray::Reentrant);
            }
            return false;
        }
    }
    // The mask begins with all bits set, and has its final value only now. Once it has changed
    // again, the bit that an emitter saw is valid.
    if !registry.has_changed() && !registry.is_on(usize::from(index)) {
        return false;
    }
    (registry.upcalls().begin_drain)();
    true
}

/// Ends a refill: the event that caused it is committed or lost.
#[cold]
#[inline(never)]
pub(crate) fn refilled(lane: &Lane) {
    // SAFETY: the lane owns its record until `seal_all` forgets it.
    if let Some(record) = unsafe { lane.record.load(Ordering::Relaxed).as_ref() } {
        record.turn.set_refilling(false);
    }
}

/// Returns the lane's record, and makes it at the lane's first event. Otherwise returns how to
/// count the loss.
fn record<'r>(
    view: View<'_>,
    lane: &Lane,
    kind: usize,
    registry: &'static Registry,
) -> Result<&'r LaneRecord, Stray> {
    // SAFETY: the pool is never unmapped, and the lane owns its record until `seal_all` forgets it.
    if let Some(record) = unsafe { lane.record.load(Ordering::Relaxed).as_ref() } {
        return Ok(record);
    }
    let identity = thread::attach(view).map_err(|unattached| match unattached {
        Unattached::Reentrant => Stray::Reentrant,
        Unattached::NoHook => Stray::Pool,
    })?;
    let claimed = LANES.claim(&Owner {
        registry,
        kind: registry.def().kinds[kind].bit,
        thread: identity.number,
        thread_id: identity.id,
        thread_name: identity.name,
    });
    let record = claimed.map_err(|unclaimed| match unclaimed {
        Unclaimed::Reentrant => Stray::Reentrant,
        Unclaimed::NoMemory => Stray::Pool,
    })?;
    // Not after the system has reported the end of this thread. Destructors that run late make it
    // begin again, and its second end may not be reported: the drain would use memory that is gone.
    if !thread::has_ended() {
        revoke::allow(record, lane);
    }
    lane.record.store(core::ptr::from_ref(record).cast_mut(), Ordering::Relaxed);
    Ok(record)
}

/// Chooses the size of the next block by the time in which the last one was filled. If the drain
/// has stopped the lane, chooses it by the length that the block had.
fn adapt(lane: &Lane, record: &LaneRecord) {
    if lane.open_block().is_none() {
        return;
    }
    if record.turn.is_sealed_up_to(record.seq.load(Ordering::Relaxed)) {
        let (len, _) = lane.committed();
        lane.pages.set(fitting(len as usize).unwrap_or(CHUNK_PAGES));
        return;
    }
    let took = crate::sys::wall_ns().wrapping_sub(lane.opened.get());
    lane.pages.set(adapted(lane.pages.get(), took));
}

/// Returns the size of the smallest block that has room for a payload of this length.
fn fitting(len: usize) -> Option<usize> {
    [1, 4, CHUNK_PAGES].into_iter().find(|&pages| capacity(pages) >= len)
}

/// Returns the size of the block after one of this size, which was filled in this time.
fn adapted(pages: usize, took_ns: u64) -> usize {
    if took_ns < QUICK_FILL_NS {
        (pages * 4).min(CHUNK_PAGES)
    } else if took_ns > SLOW_FILL_NS {
        (pages / 4).max(1)
    } else {
        pages
    }
}

/// Returns the largest size that a lane may have, up to `wish`. A quiet lane keeps its block, and
/// the blocks of all lanes must fit into the pool. So large blocks are only for a small number of
/// lanes.
fn affordable(wish: usize) -> usize {
    wish.min(most_of(STORE.available(), POOL.bytes() / PAGE))
}

/// Returns the largest size that a lane may have if this number of all pages is available.
fn most_of(available: usize, all: usize) -> usize {
    if available > all / 2 {
        CHUNK_PAGES
    } else if available > all / 4 {
        4
    } else {
        1
    }
}

/// Takes memory for a block of the wished size. If that is not free, takes the largest smaller size
/// that has `least` pages. Takes it from the pool, from the flight recorder, or as the policy
/// allows.
fn take_at_once(least: usize, wish: usize) -> Option<Room> {
    let wish = affordable(wish).max(least);
    pool::take(least, wish).or_else(|| STORE.reclaim(least, wish))
}

/// Does the same, and waits for memory if the policy says so.
fn take(least: usize, wish: usize) -> Option<Room> {
    if let Some(found) = take_at_once(least, wish) {
        return Some(found);
    }
    let longest = match state::policy() {
        Policy::Wait(longest) => longest,
        // Blocks can be evicted again in a moment, unless the snapshot's thread does not get to
        // run.
        Policy::DropNewest | Policy::OverwriteOldest if STORE.is_copied() => SNAPSHOT_TIMEOUT,
        Policy::DropNewest | Policy::OverwriteOldest => return None,
    };
    if state::is_of_parent() {
        // No pass makes room in this process.
        return None;
    }
    let since = sys::monotonic_ns();
    // A pass must not wait for memory, because it would wait for itself.
    while !is_passing() && u128::from(sys::monotonic_ns() - since) < longest.as_nanos() {
        wake();
        sys::pause();
        if let Some(found) = take_at_once(least, wish) {
            return Some(found);
        }
    }
    None
}

fn open(
    view: View<'_>,
    lane: &Lane,
    kind: usize,
    registry: &'static Registry,
    record: &LaneRecord,
    room: Room,
) {
    let kind = &registry.def().kinds[kind];
    let owner = record.owner();
    let moment = clock::now();
    let header = Header {
        kind: kind.bit,
        registry: registry.def().fingerprint,
        thread: owner.thread,
        seq: record.seq.load(Ordering::Relaxed),
        base_ticks: moment.ticks,
        base_wall: moment.wall,
        before: record.before.load(Ordering::Relaxed),
        lost: record.lost(),
        ..Header::new(BlockType::Events, state::session())
    };
    record.seq.store(header.seq.wrapping_add(1), Ordering::Relaxed);
    record.blocks.fetch_add(1, Ordering::Relaxed);
    // SAFETY: only this code has the pages, and the record stays as long as it has blocks.
    let block = unsafe { Block::open(room, record, &owner, &header) };
    view.slots[kind.slots.clone()].iter().for_each(|slot| slot.set(0));
    // Kinds that inherit the reading use this one, so that no event is older than its block.
    view.time.set(moment.ticks);
    lane.time.set(moment.ticks);
    lane.opened.set(moment.wall);
    // SAFETY: the lane owns the block.
    lane.set_block(Some(unsafe { block.as_ref() }));
    record.open.set(block);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_room_for_what_it_must_take() {
        let check = |len, expected| assert_eq!(fitting(len), expected, "{len}");
        check(0, Some(1));
        for (pages, larger) in [(1, Some(4)), (4, Some(CHUNK_PAGES)), (CHUNK_PAGES, None)] {
            check(capacity(pages), Some(pages));
            check(capacity(pages) + 1, larger);
        }
    }

    #[test]
    fn blocks_grow_with_the_rate_of_their_lane() {
        let check = |pages, took, expected| assert_eq!(adapted(pages, took), expected, "{pages} {took}");
        for (pages, larger, smaller) in [(1, 4, 1), (4, CHUNK_PAGES, 1), (CHUNK_PAGES, CHUNK_PAGES, 4)] {
            check(pages, 0, larger);
            check(pages, QUICK_FILL_NS - 1, larger);
            check(pages, QUICK_FILL_NS, pages);
            check(pages, SLOW_FILL_NS, pages);
            check(pages, SLOW_FILL_NS + 1, smaller);
        }
    }

    #[test]
    fn large_blocks_are_for_few_lanes() {
        let check = |available, expected| assert_eq!(most_of(available, 256), expected, "{available}");
        check(256, CHUNK_PAGES);
        check(129, CHUNK_PAGES);
        check(128, 4);
        check(65, 4);
        check(64, 1);
        check(0, 1);
    }
}
