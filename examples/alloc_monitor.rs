//! A program that watches its own heap: the allocator posts messages, whatever thread it is in, and a thread that
//! listens has the workers give back what they can do without.
//!
//! The allocator emits with its counters half changed, in the middle of any code. Nothing that it posts allocates.

#![allow(unsafe_code, clippy::print_stdout)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use telemetry::telemetry_event;

#[telemetry_event("examples/alloc_monitor/events.toml")]
pub mod events {}

use events::messages::{Trim, Watermark};

/// The system's allocator, which says when what is in use comes to another MiB.
struct Watched;

#[global_allocator]
static HEAP: Watched = Watched;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Bytes of a step.
const STEP: usize = 1 << 20;
/// Where the listener has the workers trim.
const LIMIT: usize = 24 << 20;
const WORKERS: u32 = 3;

// SAFETY: what the system's allocator gives and takes is passed on.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let before = LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        let live = before + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        if before / STEP != live / STEP {
            events::watermark!(live, true);
        }
        // SAFETY: the caller's promises are those that the system's allocator wants.
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
    // Messages need no stream; whoever wants one sets TELEMETRY_CONTROL.
    let alone = run(false);
    let watched = run(true);
    println!("peak without a listener {:>4} MiB, with one {:>4} MiB", alone.peak >> 20, watched.peak >> 20);
    println!(
        "heard {} watermarks, and {} trims of {} MiB",
        watched.marks,
        watched.trims,
        watched.freed >> 20
    );
    println!("dropped {} and {}", Watermark::dropped(), Trim::dropped());
}

/// What was heard of a run.
#[derive(Default)]
struct Heard {
    peak: usize,
    marks: u64,
    trims: u64,
    freed: u64,
}

/// Has the workers fill their caches, perhaps with somebody who listens.
fn run(listens: bool) -> Heard {
    let (over, trim) = (AtomicBool::new(false), [const { AtomicBool::new(false) }; WORKERS as usize]);
    let mut heard = Heard::default();
    if listens {
        assert!(Watermark::enable() && Trim::enable(), "no memory for messages");
    }
    PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
    std::thread::scope(|scope| {
        let (over, trim) = (&over, &trim);
        let workers: Vec<_> = (0..WORKERS).map(|number| scope.spawn(move || work(number, trim))).collect();
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
        // What a worker would do meanwhile.
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Hears the messages of both sorts, as they come.
fn listen(over: &AtomicBool, trim: &[AtomicBool], heard: &mut Heard) {
    loop {
        // Before the queues are found empty.
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
