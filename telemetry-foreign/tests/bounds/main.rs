//! Memory is bounded by the log's length, and absolutely: forged logs of other systems. This is a
//! process of its own, which counts its allocations.
//!
//! The long run has thirty times as much of each: `TELEMETRY_FORGED=30`.
#![allow(unsafe_code)]

mod ghc;
mod mono;
mod mps;

use telemetry_decode::foreign::Log;
use telemetry_decode::{Order, Reader};
use telemetry_testing::counting::{Counting, most, peak};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns this number, or a multiple of it in the long run.
fn many(number: u32) -> u32 {
    let times = std::env::var("TELEMETRY_FORGED").map_or(1, |text| text.parse().expect("a number"));
    number * times
}

/// Reads a log by time. Checks the memory that this takes, and what the verdict says.
#[track_caller]
fn check(what: &str, log: &[u8], decoder: impl Log + 'static, says: &str) {
    let mut read = None;
    let peak = peak(|| {
        let mut events = Reader::from_log(log, decoder).order(Order::Time).events().unwrap();
        while events.next().unwrap().is_some() {}
        read = Some(events.completeness());
    });
    let (most, len) = (most(log.len()), log.len());
    let read = read.unwrap();
    eprintln!("{what}: {len} bytes take {peak}, at most {most}; {} events", read.events);
    assert!(peak <= most, "{what}: {len} bytes take {peak}, expected at most {most}");
    assert_eq!(read.bytes.total(), log.len() as u64, "{what}");
    let verdict = read.to_string();
    assert!(verdict.contains(says), "{what}: expected {says:?} in: {verdict}");
}
