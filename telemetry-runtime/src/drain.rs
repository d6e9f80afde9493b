//! The way out: sealed blocks, and the committed prefixes of open ones, go to the sink.
//!
//! One pass at a time, under a lock: by the drain's own thread, or by whoever flushes. Only a pass
//! gives blocks back to the pool and frees records, so whatever it finds stays while it looks.
#![allow(unsafe_code)]

use core::ptr::{NonNull, null_mut};
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use telemetry_format::{BlockType, Header, Loss, flags, state};

use crate::batch::{Batch, Item, sum};
use crate::block::{Block, PAGE};
use crate::clock;
use crate::counters::{PAST_NESTED, PAST_POOL, PAST_SINK};
use crate::pool::POOL;
use crate::record::{LaneRecord, count};
use crate::refill::{STRAY_NESTED, STRAY_POOL};
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use crate::{start, sys};

/// Blocks on their way from the lanes, the latest first.
static SEALED: AtomicPtr<Block> = AtomicPtr::new(null_mut());
/// Their pages.
static SEALED_PAGES: AtomicUsize = AtomicUsize::new(0);
/// The drain's thread, once it runs.
static THREAD: OnceLock<Thread> = OnceLock::new();
static BEGUN: AtomicBool = AtomicBool::new(false);
/// The drain has been woken and has not looked yet.
static WOKEN: AtomicBool = AtomicBool::new(false);
/// Who holds this makes a pass.
static BATCH: Mutex<Option<Batch>> = Mutex::new(None);

/// Pages worth waking for: large writes are cheap ones.
const WORTH: usize = (1 << 20) / PAGE;
/// How long a flush waits for the pass of another thread.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts the drain's thread if it does not run yet.
pub(crate) fn begin() {
    if !BEGUN.swap(true, Ordering::Relaxed) && !sys::spawn(main) {
        sys::complain(format_args!(
            "cannot start the drain's thread; events are written by flush and at exit"
        ));
    }
}

/// Takes a block from a lane that is done with it.
pub(crate) fn hand_over(block: NonNull<Block>) {
    // SAFETY: the block is the caller's until the exchange below succeeds.
    let (next, pages) = unsafe { (&block.as_ref().next, block.as_ref().pages()) };
    let waiting = SEALED_PAGES.fetch_add(pages, Ordering::Relaxed) + pages;
    let mut first = SEALED.load(Ordering::Relaxed);
    loop {
        next.store(first, Ordering::Relaxed);
        // Release: all that the lane wrote to the block comes with it. A pass takes the whole list
        // at once, so a block never leaves and returns under this exchange.
        match SEALED.compare_exchange_weak(first, block.as_ptr(), Ordering::Release, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => first = now,
        }
    }
    if waiting >= WORTH.min(POOL.bytes() / PAGE / 4) {
        wake();
    }
}

/// Has the drain look at once.
pub(crate) fn wake() {
    if !WOKEN.swap(true, Ordering::Relaxed)
        && let Some(thread) = THREAD.get()
    {
        thread.unpark();
    }
}

/// Writes what all threads have recorded so far to the sink, and returns when it is written.
///
/// Not for signal handlers: it takes a lock and allocates.
pub fn flush() {
    if let Some(mut batch) = lock(PATIENCE) {
        pass(batch.get_or_insert_with(Batch::new), true);
    }
}

/// The last pass, at the end of the process. None comes after it.
pub(crate) fn finish() {
    let mut batch = lock(PATIENCE);
    if let Some(batch) = &mut batch {
        let batch = batch.get_or_insert_with(Batch::new);
        pass(batch, true);
        batch.end(&sync(flags::END));
    }
    start::end();
}

/// The lock of the passes. Nothing if the runtime is not running, or if it cannot be had in time: by a
/// thread, say, that was interrupted inside a pass and calls `exit` in its signal handler.
fn lock(patience: Duration) -> Option<MutexGuard<'static, Option<Batch>>> {
    let since = Instant::now();
    while start::is_running() {
        let guard = match BATCH.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) if since.elapsed() > patience => return None,
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_micros(100));
                continue;
            }
        };
        // Who had it may have been the last.
        return start::is_running().then_some(guard);
    }
    None
}

extern "C" fn main(_: *mut core::ffi::c_void) -> *mut core::ffi::c_void {
    let _ = THREAD.set(std::thread::current());
    flush_on_panic();
    let latency = start::latency() * 3 / 4;
    let mut swept = Instant::now();
    while !start::is_over() {
        let rest = latency.saturating_sub(swept.elapsed());
        if !WOKEN.load(Ordering::Relaxed) && !rest.is_zero() {
            std::thread::park_timeout(rest);
        }
        // Before the look: a lane that hands over after it wakes us again.
        WOKEN.store(false, Ordering::Relaxed);
        let sweep = swept.elapsed() >= latency || POOL.is_crowded();
        if let Some(mut batch) = lock(PATIENCE) {
            pass(batch.get_or_insert_with(Batch::new), sweep);
        }
        if sweep {
            swept = Instant::now();
        }
    }
    null_mut()
}

/// Flushes when a thread panics, since the program may abort then. Set from the drain's thread,
/// because setting a hook allocates and must not happen in a panicking thread.
fn flush_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        before(info);
        if let Some(mut batch) = lock(Duration::from_secs(1)) {
            pass(batch.get_or_insert_with(Batch::new), true);
        }
    }));
}

/// Writes what is sealed; with `sweep` also what open blocks have, losses, and records of lanes
/// whose threads have ended.
fn pass(batch: &mut Batch, sweep: bool) {
    // A lane is closed after its last block is handed over, and a block is opened after the one before
    // it is handed over: what precedes these in their lanes is in the list, and so is written first.
    let (mut closed, mut open) = (Vec::new(), BTreeSet::new());
    if sweep {
        closed.extend(POOL.records().iter().filter(|record| record.is_closed()));
        open.extend(taken_records().filter_map(|record| NonNull::new(record.open.load(Ordering::Acquire))));
    }
    for block in take_sealed() {
        open.remove(&block);
        // SAFETY: a sealed block stays until the batch gives it back.
        let sealed = unsafe { block.as_ref() };
        sealed.record().close_block(block);
        let end = sealed.end_ticks.load(Ordering::Relaxed);
        let item = part(block, true, end);
        if item.payload.is_empty() {
            POOL.give(block.as_ptr().cast(), sealed.pages());
        } else {
            batch.add(item);
        }
    }
    batch.write();
    if !sweep {
        return;
    }
    for block in open {
        let item = part(block, false, 0);
        if !item.payload.is_empty() {
            batch.add(item);
        }
    }
    batch.write();
    for record in taken_records() {
        if sum(&record.lost()) != record.told.load(Ordering::Relaxed) {
            batch.add(losses(record));
        }
    }
    batch.write();
    for record in closed {
        // What the stream could not be told stays until it can.
        if sum(&record.lost()) == record.told.load(Ordering::Relaxed) {
            let lost = record.lost();
            count(&PAST_POOL, lost.pool);
            count(&PAST_NESTED, lost.nested);
            count(&PAST_SINK, lost.sink);
            POOL.free(record);
        }
    }
    batch.sync(&sync(0));
}

fn taken_records() -> impl Iterator<Item = &'static LaneRecord> {
    POOL.records().iter().filter(|record| record.is_taken())
}

/// All sealed blocks, the earliest first.
fn take_sealed() -> Vec<NonNull<Block>> {
    let mut blocks = Vec::new();
    // Acquire: pairs with the hand-over of each.
    let mut next = SEALED.swap(null_mut(), Ordering::Acquire);
    while let Some(block) = NonNull::new(next) {
        // SAFETY: blocks in the list are nobody's but ours now.
        next = unsafe { block.as_ref() }.next.load(Ordering::Relaxed);
        // SAFETY: as above.
        SEALED_PAGES.fetch_sub(unsafe { block.as_ref() }.pages(), Ordering::Relaxed);
        blocks.push(block);
    }
    blocks.reverse();
    blocks
}

/// What a block has that was not taken yet. An open one ends now.
fn part(block: NonNull<Block>, sealed: bool, end_ticks: u64) -> Item {
    // SAFETY: found in the list or open in a record: stays until a pass gives it back.
    let inside = unsafe { block.as_ref() };
    let (len, events) = inside.committed_state();
    let end_ticks = if sealed { end_ticks } else { clock::ticks() };
    let (taken_len, taken_events) = state::unpack(inside.taken.load(Ordering::Relaxed));
    let open = inside.header();
    let header = Header {
        flags: if sealed { flags::LAST } else { 0 },
        payload_len: len - taken_len,
        unpacked_len: len - taken_len,
        events: events - taken_events,
        offset: taken_len,
        end_ticks,
        before: open.before + u64::from(taken_events),
        ..open
    };
    // SAFETY: both ends come from the block's state; the batch uses the bytes within this pass.
    let payload = unsafe { Block::committed(block, taken_len, len) };
    // SAFETY: records are never unmapped.
    let record = unsafe { &*core::ptr::from_ref(inside.record()) };
    Item { header, payload, record, block: Some(block), sealed }
}

/// A part without events that tells a lane's losses.
fn losses(record: &'static LaneRecord) -> Item {
    let owner = record.owner();
    let base = match NonNull::new(record.open.load(Ordering::Acquire)) {
        // Continues the open block, of which all was just written, or could not be.
        Some(block) => {
            // SAFETY: as in `part`.
            let inside = unsafe { block.as_ref() };
            let (len, events) = state::unpack(inside.taken.load(Ordering::Relaxed));
            let open = inside.header();
            Header { offset: len, before: open.before + u64::from(events), ..open }
        }
        None => {
            let moment = clock::now();
            Header {
                kind: owner.kind,
                registry: owner.registry.relation().fingerprint,
                thread: owner.thread,
                seq: record.seq.load(Ordering::Relaxed),
                base_ticks: moment.ticks,
                base_wall: moment.wall,
                before: record.recorded.load(Ordering::Relaxed),
                ..Header::new(BlockType::Events, start::session())
            }
        }
    };
    let header = Header { lost: record.lost(), end_ticks: clock::ticks(), ..base };
    Item { header, payload: &[], record, block: None, sealed: false }
}

/// A moment of the stream: what was recorded before it precedes it. Its losses are those of no lane.
fn sync(flags: u8) -> Header {
    let moment = clock::now();
    Header {
        flags,
        base_ticks: moment.ticks,
        base_wall: moment.wall,
        end_ticks: moment.ticks,
        lost: Loss {
            pool: STRAY_POOL.load(Ordering::Relaxed),
            nested: STRAY_NESTED.load(Ordering::Relaxed),
            ..Loss::default()
        },
        ..Header::new(BlockType::Sync, start::session())
    }
}
