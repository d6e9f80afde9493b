//! Resources that the runtime uses: the pool, and next to nothing else.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telemetry::{
    Config,
    sinks::{Batch, Sink},
};

use crate::support::process::child;
use crate::support::system::anonymous;
use crate::{kinds, labeled, work};

const POOL: u64 = 1 << 20;

/// A sink that takes nothing before the pool is full, and then everything.
struct Late;

static DRY: AtomicBool = AtomicBool::new(false);

impl Sink for Late {
    fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
        while !DRY.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        Ok(())
    }
}

/// The flight recorder and a sink use the whole pool.
#[test]
fn the_pool_and_little_more() {
    // Unoptimized code has larger stacks.
    const MORE: u64 = if cfg!(debug_assertions) { 128 << 10 } else { 48 << 10 };
    for mask in ["TELEMETRY_RECORD", "TELEMETRY_CONTROL"] {
        let run = child(
            "footprint::the_pool_and_little_more",
            |process| {
                let process = process.without("TELEMETRY_CONTROL").without("TELEMETRY_FILENAME");
                process.env(mask, "all").env("TELEMETRY_BUFFER", "1M")
            },
            || {
                // The memory of the test itself is already allocated.
                anonymous();
                let before = anonymous();
                Config::new().sink(Late).start().unwrap();
                for number in 0..500_000_u64 {
                    work::alloc!(number, number, number, 7);
                }
                DRY.store(true, Ordering::Relaxed);
                telemetry::flush();
                vec![("grown", anonymous().saturating_sub(before))]
            },
        );
        let grown = run.number("grown");
        assert!(grown > POOL / 8 * 7, "{mask}: {} kB are not the whole pool", grown >> 10);
        assert!(grown <= POOL + MORE, "{mask}: {} kB beyond the pool", grown.saturating_sub(POOL) >> 10);
    }
}

/// A sink that takes everything and keeps nothing.
struct Nothing;

impl Sink for Nothing {
    fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// Threads that come and go one after the other, with two lanes each. Frequent flushes stand for
/// the sweeps of a longer-lived program: they free the records of ended threads.
fn come_and_go(threads: u32) {
    for number in 0..threads {
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            kinds::e0!(number, 1_usize);
            kinds::e1!(number, 1_usize);
        });
        thread.expect("a thread").join().expect("no panic");
        if number % 32 == 31 {
            telemetry::flush();
        }
    }
}

/// The memory for threads does not grow with the number of ended threads.
#[test]
fn threads_that_come_and_go() {
    // Entries for up to 1,024 threads before they are forgotten, and holes in two heaps.
    const MORE: u64 = 128 << 10;
    let run = child(
        "footprint::threads_that_come_and_go",
        |process| {
            let process = process.without("TELEMETRY_RECORD").without("TELEMETRY_FILENAME");
            process.env("TELEMETRY_CONTROL", "all").env("TELEMETRY_BUFFER", "128k")
        },
        || {
            Config::new().sink(Nothing).start().unwrap();
            come_and_go(3_000);
            anonymous();
            let before = anonymous();
            come_and_go(12_000);
            let grown = anonymous().saturating_sub(before);
            let counters = telemetry::counters::total();
            vec![("grown", grown), ("written", counters.written), ("lost", counters.lost())]
        },
    );
    assert_eq!(run.number("written") + run.number("lost"), 2 * 15_000);
    let grown = run.number("grown");
    assert!(grown <= MORE, "{} kB more after 12,000 threads", grown >> 10);
}

/// The variable for the seconds of [`a_long_run`].
const SECONDS: &str = "TELEMETRY_TEST_SECONDS";

/// One round of a long run: threads come and go, labels are found again, and control changes.
fn round(number: u32) {
    let names: Vec<String> = (0..50).map(|name| format!("name {name}")).collect();
    std::thread::scope(|scope| {
        for thread in 0..4_u32 {
            let names = &names;
            scope.spawn(move || {
                for event in 0..200_u32 {
                    work::alloc!(u64::from(event), u64::from(number), 7_u64, thread);
                    kinds::e0!(event, 1_usize);
                    labeled::used!(telemetry::intern(&names[event as usize % names.len()]), u64::from(event));
                }
            });
        }
    });
    match number % 8 {
        3 => telemetry::reset("kinds:all"),
        5 => telemetry::set("kinds:all"),
        7 => _ = telemetry::flush(),
        _ => {}
    }
    std::thread::sleep(Duration::from_millis(20));
}

/// The memory of a program that writes a file does not grow, however long it runs.
///
/// The long run: `TELEMETRY_TEST_SECONDS=300 cargo test --release --test suite a_long_run`.
#[test]
fn a_long_run() {
    // Holes in two heaps.
    const MORE: u64 = 128 << 10;
    let seconds = std::env::var(SECONDS).map_or(2, |text| text.parse().expect("a number of seconds"));
    let run = child(
        "footprint::a_long_run",
        |process| {
            let process = process.without("TELEMETRY_RECORD").env("TELEMETRY_CONTROL", "all");
            let process = process.env("TELEMETRY_BUFFER", "128k").env("TELEMETRY_LATENCY", "0.1");
            process.env(SECONDS, seconds.to_string()).longer(Duration::from_secs(seconds))
        },
        || {
            // A small pool is used as a whole soon, and the two heaps have their size.
            (0..100).for_each(round);
            anonymous();
            let before = anonymous();
            let (start, mut shown) = (Instant::now(), 0);
            for number in 0.. {
                round(number);
                let elapsed = start.elapsed();
                if elapsed.as_secs() / 10 > shown {
                    shown = elapsed.as_secs() / 10;
                    eprintln!("{} s, {number} rounds: {} kB", shown * 10, anonymous() >> 10);
                }
                if elapsed.as_secs() >= seconds {
                    break;
                }
            }
            vec![("before", before), ("after", anonymous())]
        },
    );
    eprint!("{}", run.stderr);
    let grown = run.number("after").saturating_sub(run.number("before"));
    assert!(grown <= MORE, "{} kB more than {}", grown >> 10, run.number("before") >> 10);
}
