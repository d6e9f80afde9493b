//! The cost of what the crate watches, in instructions: `cargo bench -p telemetry-std`. Each is
//! beside what it stands for. Fails if one has become larger.
#![allow(missing_docs, unsafe_code, clippy::print_stdout)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::process::Command;

use telemetry_std::{Allocator, Mutex, RwLock};

/// An allocator that does nothing, so that only the counting is measured.
struct Nothing;

static BYTE: u64 = 0;

// SAFETY: nothing uses the memory.
unsafe impl GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        black_box((&raw const BYTE).cast_mut().cast())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, _: Layout) {
        black_box(pointer);
    }
}

/// What is run, its name, and the most instructions.
const WORKS: &[(&str, &str, f64)] = &[
    ("nothing", "an allocation and a free that do nothing", f64::MAX),
    ("counted", "the same, counted", 42.1),
    ("std-mutex", "std's mutex, free", f64::MAX),
    ("mutex", "the mutex, free", 26.1),
    ("std-rwlock", "std's lock to read, free", f64::MAX),
    ("rwlock", "the lock to read, free", 28.1),
];

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--count") {
        telemetry::Config::new().output("/dev/null").socket(false).start().unwrap();
        return telemetry_hot_loop(&args[at + 1], args[at + 2].parse().unwrap());
    }
    let mut is_cheap = true;
    for (work, what, most) in WORKS {
        let (Some(few), Some(many)) = (count(work, 10_000), count(work, 30_000)) else {
            println!("SKIPPED: instructions are not counted: valgrind failed or is not installed");
            return;
        };
        let found = (many - few) / 20_000.0;
        is_cheap &= found <= *most;
        let beyond = if found <= *most { String::new() } else { format!(", expected at most {most}") };
        println!("{what:<44} {found:>9.1} instructions{beyond}");
    }
    assert!(is_cheap, "watching has become more expensive");
}

fn count(work: &str, n: u64) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*telemetry_hot_loop*"])
        .arg(std::env::current_exe().ok()?)
        .args(["--count", work, &n.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.split_whitespace().last()?.parse().ok()
}

fn allocate(with: &impl GlobalAlloc, n: u64) {
    for i in 0..n {
        let size = 16 + (i as usize & 127);
        let layout = Layout::from_size_align(size, 8).unwrap_or(Layout::new::<u64>());
        // SAFETY: the layout is not empty, and the memory is freed with it.
        unsafe {
            let pointer = with.alloc(layout);
            with.dealloc(pointer, layout);
        }
    }
}

/// Not inlined: callgrind counts the instructions inside this function.
#[inline(never)]
fn telemetry_hot_loop(work: &str, n: u64) {
    static MUTEX: Mutex<u64> = Mutex::new("mutex", 0);
    static STD_MUTEX: std::sync::Mutex<u64> = std::sync::Mutex::new(0);
    static LOCK: RwLock<u64> = RwLock::new("lock", 0);
    static STD_LOCK: std::sync::RwLock<u64> = std::sync::RwLock::new(0);
    match work {
        "nothing" => allocate(&Nothing, n),
        "counted" => allocate(&Allocator::new(Nothing), n),
        "mutex" => (0..n).for_each(|i| *MUTEX.lock().unwrap() += i),
        "std-mutex" => (0..n).for_each(|i| *STD_MUTEX.lock().unwrap() += i),
        "rwlock" => (0..n).for_each(|_| _ = black_box(*LOCK.read().unwrap())),
        "std-rwlock" => (0..n).for_each(|_| _ = black_box(*STD_LOCK.read().unwrap())),
        // Otherwise the system's allocator is not part of the program.
        _ => _ = black_box(&System),
    }
}
