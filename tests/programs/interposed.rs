//! A program with its own C `malloc`, which emits events: `Alloc` inside its lock, and `Tick`
//! outside.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use telemetry::telemetry_event;

#[telemetry_event("work.toml")]
mod work {}

/// The thread that allocates; 0 if none does.
static LOCK: AtomicUsize = AtomicUsize::new(0);
static USED: AtomicUsize = AtomicUsize::new(0);
static TELLS: AtomicBool = AtomicBool::new(true);
static EMITTED: AtomicU64 = AtomicU64::new(0);

const SIZE: usize = 64 << 20;

#[repr(align(16))]
struct Memory(std::cell::UnsafeCell<[u8; SIZE]>);

// SAFETY: `malloc` gives each byte to one owner.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(std::cell::UnsafeCell::new([0; SIZE]));

thread_local! {
    /// Its address tells threads apart.
    static THREAD: u8 = const { 0 };
}

/// Waits for other threads. Aborts if this one allocates already.
fn lock() {
    let this = THREAD.with(|thread| std::ptr::from_ref(thread).addr());
    while let Err(owner) = LOCK.compare_exchange(0, this, Ordering::Acquire, Ordering::Relaxed) {
        if owner == this {
            std::process::abort();
        }
        std::thread::yield_now();
    }
}

/// Never frees. Aborts if it is called inside itself.
fn allocate(size: usize) -> *mut c_void {
    lock();
    let size = (size + 31) & !15;
    let at = USED.fetch_add(size, Ordering::Relaxed);
    work::alloc!(at, at, size, 0);
    LOCK.store(0, Ordering::Release);
    if TELLS.load(Ordering::Relaxed) {
        EMITTED.fetch_add(1, Ordering::Relaxed);
        work::tick!();
    }
    if at + size > SIZE {
        return std::ptr::null_mut();
    }
    // SAFETY: the range is in the memory. Its size is before it, for `realloc`.
    unsafe {
        let start = MEMORY.0.get().cast::<u8>().add(at);
        start.cast::<usize>().write(size - 16);
        start.add(16).cast()
    }
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    allocate(size)
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    allocate(count * size)
}

#[unsafe(no_mangle)]
extern "C" fn free(_: *mut c_void) {}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    let new = allocate(size);
    if !old.is_null() && !new.is_null() {
        // SAFETY: `allocate` wrote the old size before the old memory.
        unsafe {
            let len = old.cast::<u8>().sub(16).cast::<usize>().read().min(size);
            std::ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast(), len);
        }
    }
    new
}

fn main() {
    // SAFETY: the layout has a size.
    let at = unsafe { System.alloc(Layout::new::<u64>()) };
    assert!(!at.is_null());
    let threads = std::fs::read_dir("/proc/self/task").expect("threads").count();
    println!("threads {threads}");
    telemetry::flush();
    TELLS.store(false, Ordering::Relaxed);
    telemetry::flush();
    println!("\nnumber emitted={}", EMITTED.load(Ordering::Relaxed));
}
