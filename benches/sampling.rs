//! The processor time that samples cost, in percent of a processor:
//! `RUSTFLAGS="-C force-frame-pointers=yes" cargo bench --bench sampling`.
//!
//! Two threads of one process do the same work in turn. One has emitted, and is sampled; the other
//! has not. The difference of their processor times is what the samples cost, with all that the
//! system does for them.

#![allow(missing_docs, unsafe_code, clippy::print_stdout)]

mod common;

use std::hint::black_box;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};

use common::{Goal, Row, of_another, table};
use telemetry::telemetry_event;

#[telemetry_event("tests/registries/stacks.toml")]
pub mod events {}

/// The variable that makes a process measure.
const CHILD: &str = "TELEMETRY_BENCH_SAMPLING";
/// Pairs of slices in a process, and processes.
const SLICES: u64 = 60;
const ROUNDS: usize = 7;
/// Steps of the work in a slice: some 20 ms.
const STEPS: u64 = 40_000_000;
const FRAMES: u64 = 20;

/// What is measured: the setting, and what multiplies its figure to that of 1 kHz. Without a
/// setting, the thread has such a timer whose handler does nothing.
const ALL: [(&str, &str, f64); 5] = [
    ("cpu, 1 kHz", "cpu:1000", 1.0),
    ("cpu, 1 kHz, stacks of 20 frames", "cpu:1000 stacks", 1.0),
    ("wall, 10 kHz divided by 10", "wall:10000", 0.1),
    ("the same, stacks of 20 frames", "wall:10000 stacks", 0.1),
    ("the same, a handler that does nothing", "off", 0.1),
];

fn main() {
    if std::env::var_os(CHILD).is_some() {
        return measure();
    }
    if !cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))) {
        println!("SKIPPED: threads are sampled on Linux alone");
        return;
    }
    let mut rows: Vec<Row> =
        ALL.iter().map(|(name, words, _)| Row::new(name, "% of a CPU", goal(words))).collect();
    for _ in 0..ROUNDS {
        for (row, (_, words, factor)) in rows.iter_mut().zip(ALL) {
            let program = std::env::current_exe().expect("the path of this program");
            let mut child = Command::new(program);
            let output = child.env(CHILD, "1").env("TELEMETRY_SAMPLING", words).output().expect("a process");
            let text = String::from_utf8_lossy(&output.stdout);
            let percent: f64 = text.trim().parse().unwrap_or_else(|_| panic!("{words}: {output:?}"));
            row.add(percent * factor, 1.0);
        }
    }
    table(rows);
}

/// The price of timers that measure wall time is the system's, for the most part.
fn goal(words: &str) -> Goal {
    if words.starts_with("cpu") { Goal::MedianAtMost(1.0) } else { Goal::Less }
}

/// Prints by how many percent the sampled thread is slower.
fn measure() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    telemetry::Config::new()
        .output(dir.path().join("x.tel"))
        .control("all")
        .start()
        .expect("the first start");
    let [plain, sampled] = [false, true].map(worker);
    let ask = |(to, from): &(Sender<()>, Receiver<u64>)| {
        to.send(()).expect("a thread that works");
        from.recv().expect("a thread that works") as f64
    };
    let ratio = of_another(SLICES, || ask(&plain), || ask(&sampled));
    println!("{}", 100.0 * (ratio - 1.0));
}

/// Starts a thread that works for each request, and answers with its processor time.
fn worker(is_sampled: bool) -> (Sender<()>, Receiver<u64>) {
    let ((request, requests), (answers, answer)) = (channel(), channel());
    std::thread::spawn(move || {
        if is_sampled {
            events::reached!(0);
            if std::env::var("TELEMETRY_SAMPLING").is_ok_and(|words| words == "off") {
                start_bare_timer();
            }
        }
        while requests.recv().is_ok() {
            let before = processor_time();
            deeper(FRAMES);
            if answers.send(processor_time() - before).is_err() {
                return;
            }
        }
    });
    (request, answer)
}

/// Calls itself this often, and then works.
#[inline(never)]
fn deeper(left: u64) {
    match left {
        0 => (0..STEPS).for_each(|step| _ = common::opaque(step)),
        _ => deeper(left - 1),
    }
    black_box(left);
}

extern "C" fn do_nothing(_: i32) {}

/// Has a signal interrupt this thread ten thousand times a second.
fn start_bare_timer() {
    #[cfg(target_os = "linux")]
    // SAFETY: the handler does nothing, and all pointers are to local variables.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = do_nothing as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGPROF, &raw const action, std::ptr::null_mut());
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGPROF;
        event.sigev_notify_thread_id = libc::gettid();
        let interval = libc::timespec { tv_sec: 0, tv_nsec: 100_000 };
        let times = libc::itimerspec { it_interval: interval, it_value: interval };
        let mut timer = std::mem::zeroed();
        libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer);
        libc::timer_settime(timer, 0, &raw const times, std::ptr::null_mut());
    }
}

/// Nanoseconds of processor time of this thread so far.
fn processor_time() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a local time.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
    #[cfg(not(target_os = "linux"))]
    {
        0
    }
}
