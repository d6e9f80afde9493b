//! An allocator that interns and labels inside its lock, and code before `main` that does.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use telemetry::telemetry_event;

#[telemetry_event("labels.toml")]
mod labeled {}

struct Labeling;

#[global_allocator]
static ALLOCATOR: Labeling = Labeling;

static LOCK: AtomicBool = AtomicBool::new(false);
static LABELED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: the system's allocator, whose results are passed on.
unsafe impl GlobalAlloc for Labeling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if INSIDE.replace(true) {
            // A label allocates.
            std::process::abort();
        }
        while LOCK.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: the caller's promises are the system allocator's.
        let at = unsafe { System.alloc(layout) };
        if layout.size() == 4242 {
            telemetry::label(at, telemetry::intern!("marked"));
            labeled::used!(telemetry::intern("inside"), LABELED.fetch_add(1, Ordering::Relaxed));
        } else {
            let _ = telemetry::intern!("unmarked");
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

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    let _ = telemetry::intern("early");
}

fn main() {
    let thread = || (0..100).for_each(|_| drop(std::hint::black_box(vec![0_u8; 4242])));
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(thread)).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("a thread that only allocates"));
    println!("\nnumber labeled={}", LABELED.load(Ordering::Relaxed));
}
