//! An allocator that emits an event for each allocation, inside its lock.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use telemetry::telemetry_event;

#[telemetry_event("work.toml")]
mod work {}

struct Telling;

#[global_allocator]
static ALLOCATOR: Telling = Telling;

static LOCK: AtomicBool = AtomicBool::new(false);
static TELLS: AtomicBool = AtomicBool::new(true);
static EMITTED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: the system's allocator, whose results are passed on.
unsafe impl GlobalAlloc for Telling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if INSIDE.replace(true) {
            // An emitter allocates.
            std::process::abort();
        }
        while LOCK.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: the caller's promises are the system allocator's.
        let at = unsafe { System.alloc(layout) };
        if TELLS.load(Ordering::Relaxed) {
            EMITTED.fetch_add(1, Ordering::Relaxed);
            work::alloc!(at, at, layout.size(), 0);
        }
        LOCK.store(false, Ordering::Release);
        INSIDE.set(false);
        at
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

fn main() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                for size in 0..10_000 {
                    drop(std::hint::black_box(vec![0_u8; size % 100]));
                }
            })
        })
        .collect();
    telemetry::set("Alloc");
    telemetry::flush();
    threads.into_iter().for_each(|thread| thread.join().expect("a thread that only allocates"));
    TELLS.store(false, Ordering::Relaxed);
    telemetry::flush();
    let counters = telemetry::counters::total();
    let lost = counters.lost_pool + counters.lost_reentrant + counters.lost_sink;
    println!(
        "\nnumber emitted={}\n\nnumber written={}\n\nnumber lost={lost}",
        EMITTED.load(Ordering::Relaxed),
        counters.written
    );
}
