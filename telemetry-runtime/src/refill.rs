//! The cold half of the hot path: first use of a thread or registry, a full block, a dry pool.
#![allow(unsafe_code)]

use core::ptr::null_mut;

use telemetry_format::{BlockType, Header};

use crate::block::{Block, capacity};
use crate::clock;
use crate::drain;
use crate::lane::{Lane, Site, View};
use crate::pages::CHUNK_PAGES;
use crate::pool::{self, POOL};
use crate::record::{LaneRecord, Owner, count};
use crate::registry::Registry;
use crate::start::{self, Policy};
use crate::store::STORE;
use crate::sync::{AtomicU64, Ordering};
use crate::thread::{self, Unattached};
use crate::{control, sys};

/// Events lost by lanes that have no record: there is no memory for one.
pub(crate) static STRAY_POOL: AtomicU64 = AtomicU64::new(0);
/// The same for events that interrupted an emission, or what makes the records.
pub(crate) static STRAY_NESTED: AtomicU64 = AtomicU64::new(0);

/// Sets both to nothing.
pub(crate) fn forget_strays() {
    [&STRAY_POOL, &STRAY_NESTED].iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
}

/// A lane whose block fills within this many nanoseconds gets a larger one next.
const QUICK: u64 = 100_000_000;
/// A lane whose block lasts this many nanoseconds gets a smaller one next.
const SLOW: u64 = 2_000_000_000;

/// Makes room for `need` bytes in a lane that the caller has entered. False if the event cannot or
/// shall not be recorded; a loss is then counted.
#[cold]
#[inline(never)]
pub(crate) fn refill(
    view: View<'_>,
    kind: usize,
    registry: &'static Registry,
    site: Site,
    need: usize,
) -> bool {
    let lane = &view.lanes[kind];
    if !control::list(registry) {
        if !start::is_over() {
            STRAY_NESTED.fetch_add(1, Ordering::Relaxed);
        }
        return false;
    }
    // The mask starts with all bits set; only now is it what it should be. A lane that has a record
    // has been here before, and once the mask has changed, what an emitter saw in it counts.
    let is_first = lane.record.load(Ordering::Relaxed).is_null() && !registry.has_changed();
    if is_first && !registry.is_on(usize::from(site.index)) {
        return false;
    }
    let record = match record(view, lane, kind, registry) {
        Ok(record) => record,
        Err(lost) => {
            lost.fetch_add(1, Ordering::Relaxed);
            drain::wake();
            return false;
        }
    };
    adapt(lane);
    seal(lane);
    let least = [1, 4, CHUNK_PAGES].into_iter().find(|&pages| capacity(pages) >= need);
    let Some((at, pages)) = least.and_then(|least| take(least, lane.pages.get())) else {
        record.pool.fetch_add(1, Ordering::Relaxed);
        drain::wake();
        return false;
    };
    open(view, lane, kind, registry, record, at, pages);
    true
}

/// The lane's record, made at its first event; or what counts its loss.
fn record<'r>(
    view: View<'_>,
    lane: &Lane,
    kind: usize,
    registry: &'static Registry,
) -> Result<&'r LaneRecord, &'static AtomicU64> {
    // SAFETY: the pool is never unmapped; a record is the lane's until `seal_all` forgets it.
    if let Some(record) = unsafe { lane.record.load(Ordering::Relaxed).as_ref() } {
        return Ok(record);
    }
    let identity = thread::attach(view).map_err(|unattached| match unattached {
        Unattached::Nested => &STRAY_NESTED,
        Unattached::NoHook => &STRAY_POOL,
    })?;
    drain::begin();
    let record = POOL.record(&Owner {
        registry,
        kind: registry.relation().kinds[kind].bit,
        thread: identity.number,
        thread_id: identity.id,
        thread_name: identity.name,
    });
    let record = record.ok_or(&STRAY_POOL)?;
    lane.record.store(core::ptr::from_ref(record).cast_mut(), Ordering::Relaxed);
    Ok(record)
}

/// Chooses the size of the next block by how long the last one took to fill.
fn adapt(lane: &Lane) {
    if lane.open_block().is_none() {
        return;
    }
    let took = crate::sys::wall_ns().wrapping_sub(lane.opened.get());
    let pages = lane.pages.get();
    if took < QUICK {
        lane.pages.set((pages * 4).min(CHUNK_PAGES));
    } else if took > SLOW {
        lane.pages.set((pages / 4).max(1));
    }
}

/// Memory for a block of the wished size, or the largest below it that is free and large enough: from the
/// pool, from the flight recorder, or as the policy says.
fn take(least: usize, wish: usize) -> Option<(*mut u8, usize)> {
    let found = || pool::take(least, wish).or_else(|| STORE.reclaim(least, wish));
    if let Some(found) = found() {
        return Some(found);
    }
    let Policy::Wait(longest) = start::policy() else { return None };
    let since = sys::monotonic_ns();
    // A pass that waits for memory would wait for itself.
    while !drain::is_passing() && u128::from(sys::monotonic_ns() - since) < longest.as_nanos() {
        drain::wake();
        sys::pause();
        if let Some(found) = found() {
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
    at: *mut u8,
    pages: usize,
) {
    let kind = &registry.relation().kinds[kind];
    let owner = record.owner();
    let moment = clock::now();
    let header = Header {
        kind: kind.bit,
        registry: registry.relation().fingerprint,
        thread: owner.thread,
        seq: record.seq.load(Ordering::Relaxed),
        base_ticks: moment.ticks,
        base_wall: moment.wall,
        before: record.recorded.load(Ordering::Relaxed),
        lost: record.lost(),
        ..Header::new(BlockType::Events, start::session())
    };
    record.seq.store(header.seq.wrapping_add(1), Ordering::Relaxed);
    record.blocks.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the pool gave us the pages alone; the record stays as long as it has blocks.
    let block = unsafe { Block::open(at, pages, record, &owner, &header) };
    view.slots[kind.slots.clone()].iter().for_each(|slot| slot.set(0));
    // The reading counts for kinds that inherit it, so that none is older than its block.
    view.time.set(moment.ticks);
    lane.time.set(moment.ticks);
    lane.opened.set(moment.wall);
    lane.set_block(Some(block));
    record.open.set(block);
}

/// Hands the lane's block, if any, to the drain. The caller has entered the lane.
pub(crate) fn seal(lane: &Lane) {
    let Some(block) = lane.open_block() else { return };
    lane.set_block(None);
    // SAFETY: the block is ours until it is handed over, below; its record is for longer.
    let sealed = unsafe { block.as_ref() };
    let record = sealed.record();
    sealed.end_ticks.store(lane.time.get(), Ordering::Relaxed);
    let (_, events) = sealed.state.committed();
    count(&record.recorded, u64::from(events));
    STORE.hand_over(block);
}

/// Forgets all lanes of this thread, whose blocks are another process's. False if it is inside of one.
pub(crate) fn forget_all(lanes: &[Lane]) -> bool {
    lanes.iter().all(|lane| {
        lane.enter() && {
            lane.set_block(None);
            lane.record.store(null_mut(), Ordering::Relaxed);
            lane.leave(true)
        }
    })
}

/// Seals all lanes of a thread that ends.
pub(crate) fn seal_all(lanes: &[Lane]) {
    for lane in lanes {
        if lane.enter() {
            seal(lane);
            let record = lane.record.swap(null_mut(), Ordering::Relaxed);
            // SAFETY: as in `record`; after `close` nobody of this thread uses it.
            if let Some(record) = unsafe { record.as_ref() } {
                POOL.close(record);
            }
            lane.leave(());
        }
    }
    if POOL.is_crowded() {
        drain::wake();
    }
}
