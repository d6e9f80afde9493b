//! Call stacks by unwinding tables: of code without frame pointers, inside of an allocator, and in
//! a signal handler that interrupts anything, the unwinder too.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telemetry::decode::{Reader, Value};
use telemetry::telemetry_event;

#[telemetry_event("tests/registries/stacks.toml")]
pub mod events {}

/// What events say of their place.
const DEEP: u64 = 1;
const ALLOCATED: u64 = 2;
const SIGNAL: u64 = 3;

/// The calls above the deep place.
const CALLS: u64 = 30;

struct Watched;

#[global_allocator]
static ALLOCATOR: Watched = Watched;

static EMITS: AtomicBool = AtomicBool::new(false);
static SIGNALS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if EMITS.load(Ordering::Relaxed) {
            events::reached!(ALLOCATED);
        }
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

extern "C" fn handler(_: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
    events::reached!(SIGNAL);
}

/// Uses the register of frame pointers as any other, and calls itself with none.
#[inline(never)]
fn deeper(left: u64) -> u64 {
    let below = match left {
        0 => {
            events::reached!(DEEP);
            black_box(vec![1_u8; 10]).len() as u64
        }
        _ => deeper(left - 1),
    };
    black_box(below) + 1
}

/// Ends the process if the test hangs.
fn watch() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(60));
        eprintln!("the test hangs");
        std::process::abort();
    });
}

#[test]
fn tables_give_whole_stacks() {
    watch();
    let file = tempfile::NamedTempFile::new().unwrap();
    telemetry::Config::new().output(file.path()).buffer(64 << 20).start().unwrap();
    telemetry::set("all");
    // The thread of the test has a timer, whose signals interrupt whatever it does.
    // SAFETY: the handler only emits and counts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGPROF, &action, std::ptr::null_mut()), 0);
    }
    EMITS.store(true, Ordering::Relaxed);
    assert_eq!(deeper(CALLS), CALLS + 11);
    let every = |us| libc::timeval { tv_sec: 0, tv_usec: us };
    let timer = |us| libc::itimerval { it_interval: every(us), it_value: every(us) };
    // SAFETY: the structure outlives the call.
    unsafe { assert_eq!(libc::setitimer(libc::ITIMER_PROF, &timer(200), std::ptr::null_mut()), 0) };
    let since = Instant::now();
    std::panic::set_hook(Box::new(|_| {}));
    while since.elapsed() < Duration::from_secs(2) {
        black_box(deeper(CALLS));
        // The program unwinds, too.
        let _ = std::panic::catch_unwind(|| std::panic::panic_any(deeper(3)));
    }
    // SAFETY: as above.
    unsafe { assert_eq!(libc::setitimer(libc::ITIMER_PROF, &timer(0), std::ptr::null_mut()), 0) };
    EMITS.store(false, Ordering::Relaxed);
    let _ = std::panic::take_hook();
    telemetry::flush();
    check(file.path());
}

/// Every stack of the deep place has all calls, and other stacks have more than their own place.
fn check(stream: &std::path::Path) {
    let mut lengths = std::collections::HashMap::new();
    let mut calls = std::collections::HashMap::new();
    let mut events = Reader::open(stream).and_then(Reader::events).unwrap();
    while let Some(event) = events.next().unwrap() {
        if event.name() == "Stack"
            && let (Some(number), Some(Value::Array(frames))) = (event.value(0), event.value(2))
        {
            let frames: Vec<u64> = frames.iter().filter_map(|frame| frame.as_u64()).collect();
            let repeated = frames.windows(2).filter(|two| two[0] == two[1]).count() as u64;
            lengths.insert(number.as_u64().unwrap(), frames.len());
            calls.insert(number.as_u64().unwrap(), repeated);
        }
    }
    let mut found = [0_u64; 4];
    let mut events = Reader::open(stream).and_then(Reader::events).unwrap();
    while let Some(event) = events.next().unwrap() {
        if event.name() != "Reached" {
            continue;
        }
        let number = |index| event.value(index).and_then(|value| value.as_u64()).unwrap();
        let (which, stack) = (number(0), number(1));
        if which == DEEP && stack != 0 {
            assert!(calls[&stack] >= CALLS.min(3) - 1, "{}", lengths[&stack]);
            found[0] += u64::from(calls[&stack] == CALLS - 1);
        }
        if stack != 0 && lengths[&stack] > 3 {
            found[which as usize] += 1;
        }
    }
    assert!(found[0] > 10, "stacks with all calls: {found:?}");
    assert!(found[DEEP as usize] > 10 && found[ALLOCATED as usize] > 10, "{found:?}");
    // Most signals interrupt the unwinder, so that their stacks are walked by frame pointers.
    let signals = SIGNALS.load(Ordering::Relaxed);
    assert!(signals > 10 && found[SIGNAL as usize] > 5, "{found:?} of {signals} signals");
}
