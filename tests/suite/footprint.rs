//! Resources that the runtime uses: the pool, and next to nothing else.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use telemetry::{
    Config,
    sinks::{Batch, Sink},
};

use crate::support::process::child;
use crate::support::system::anonymous;
use crate::{kinds, work};

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
    const MORE: u64 = if cfg!(debug_assertions) { 128 << 10 } else { 64 << 10 };
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
