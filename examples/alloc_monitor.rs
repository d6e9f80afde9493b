//! A program that watches its own heap. The allocator posts messages on any thread; a listening
//! thread then makes the workers free memory that they do not need.
//!
//! The allocator may be called in the middle of any code, so posting must not allocate.

#![allow(unsafe_code, clippy::print_stdout)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use telemetry::telemetry_event;

#[telemetry_event("examples/alloc_monitor/events.toml")]
pub mod events {}

use events::messages::{Trim, Watermark};

/// The system's allocator. Posts a message when the bytes in use cross a multiple of [`STEP`].
struct Watched;

/// With the counters of `telemetry-std`, which `TELEMETRY_CONTROL=std:Memory` samples.
#[global_allocator]
static HEAP: telemetry_std::Allocator<Watched> = telemetry_std::Allocator::new(Watched);

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Bytes between two watermarks.
const STEP: usize = 1 << 20;
/// Bytes in use at which the listener makes the workers trim.
const LIMIT: usize = 24 << 20;
const WORKERS: u32 = 3;

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let before = LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        let live = before + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        if before / STEP != live / STEP {
            events::watermark!(live, true);
        }
        // SAFETY: the caller keeps the contract, which is that of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let before = LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        let live = before.wrapping_sub(layout.size());
        if before / STEP != live / STEP {
            events::watermark!(live, false);
        }
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

fn main() {
    // Messages need no stream. Set TELEMETRY_CONTROL to write one.
    let alone = run(false);
    let watched = run(true);
    println!("peak without a listener {:>4} MiB, with one {:>4} MiB", alone.peak >> 20, watched.peak >> 20);
    println!(
        "received {} watermarks, and {} trims of {} MiB",
        watched.marks,
        watched.trims,
        watched.freed >> 20
    );
    println!("dropped {} and {}", Watermark::dropped(), Trim::dropped());
}

/// What the listener received during a run.
#[derive(Default)]
struct Heard {
    peak: usize,
    marks: u64,
    trims: u64,
    freed: u64,
}

/// Lets the workers fill their caches, with or without a listener.
fn run(listens: bool) -> Heard {
    let (over, trim) = (AtomicBool::new(false), [const { AtomicBool::new(false) }; WORKERS as usize]);
    let mut heard = Heard::default();
    if listens {
        assert!(Watermark::enable() && Trim::enable(), "no memory for messages");
    }
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
    std::thread::scope(|scope| {
        let (over, trim) = (&over, &trim);
        let start = |number| {
            telemetry_std::thread::spawn_scoped(scope, &format!("worker {number}"), move || {
                work(number, trim)
            })
            .expect("a thread")
        };
        let workers: Vec<_> = (0..WORKERS).map(start).collect();
        let heard = &mut heard;
        let listener = listens.then(|| scope.spawn(move || listen(over, trim, heard)));
        workers.into_iter().for_each(|worker| worker.join().expect("a worker that ends"));
        over.store(true, Ordering::Release);
        listener.into_iter().for_each(|listener| listener.join().expect("a listener that ends"));
    });
    heard.peak = PEAK.load(Ordering::Relaxed);
    Watermark::disable();
    Trim::disable();
    heard
}

/// Fills a cache, and empties it when asked to.
fn work(number: u32, trim: &[AtomicBool]) {
    let mut cache: Vec<Vec<u8>> = Vec::new();
    for size in (1000..).step_by(7).take(6000) {
        cache.push(vec![0; size % 20_000]);
        if trim[number as usize].swap(false, Ordering::Relaxed) {
            events::trim_begin!(number);
            let freed: usize = cache.drain(..).map(|block| block.capacity()).sum();
            events::trim_end!(number, freed);
        }
        // Stands for the worker's real work.
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Receives both messages as they come.
fn listen(over: &AtomicBool, trim: &[AtomicBool], heard: &mut Heard) {
    loop {
        // Read before the queues are checked: nothing is posted after both are found empty.
        let was_over = over.load(Ordering::Acquire);
        let mark = Watermark::wait(if was_over { Duration::ZERO } else { Duration::from_millis(10) });
        if let Some(mark) = &mark {
            heard.marks += 1;
            if mark.is_rising() && mark.live() as usize >= LIMIT {
                trim.iter().for_each(|worker| worker.store(true, Ordering::Relaxed));
            }
        }
        while let Some(message) = Trim::get() {
            if let Trim::End(end) = message {
                heard.trims += 1;
                heard.freed += end.freed();
            }
        }
        if was_over && mark.is_none() {
            return;
        }
    }
}
