//! What the runtime takes of the machine: the pool, and next to nothing else.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use telemetry::{Blocks, Config, Sink};

use crate::support::process::child;
use crate::work;

const POOL: u64 = 1 << 20;

/// Bytes of memory that are the process's alone, by what the kernel says.
fn anonymous() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").expect("what the kernel says of us");
    let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:")).expect("a line of that name");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes << 10
}

/// Takes nothing before the pool is dry, and then everything.
struct Late;

static DRY: AtomicBool = AtomicBool::new(false);

impl Sink for Late {
    fn write(&mut self, _: &Blocks<'_>) -> io::Result<()> {
        while !DRY.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        Ok(())
    }
}

/// The whole pool in use, by the flight recorder and by a sink.
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
                // What this test itself needs is there already.
                anonymous();
                let before = anonymous();
                Config::new().sink(Late).start();
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
