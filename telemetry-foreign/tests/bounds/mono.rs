//! Forged logs of the Mono log profiler.

use std::io;

use telemetry_decode::foreign::LogBytes;
use telemetry_foreign::mono::{self, MonoLog, ReportOptions};
use telemetry_testing::counting::{alone, most, peak};

use crate::many;

/// Reads a log as events, and makes the tool's text and tables of it.
#[track_caller]
fn check(what: &str, log: &[u8], says: &str) {
    crate::check(what, log, MonoLog::new(), says);
    let options = ReportOptions::default().traces(true).verbose(true);
    let text = peak(|| _ = mono::debug(&mut LogBytes::from_slice(log), &mut io::sink()).unwrap());
    let tables = peak(|| _ = mono::report(&mut LogBytes::from_slice(log), options, &mut io::sink()).unwrap());
    for (tool, peak) in [("text", text), ("tables", tables)] {
        let (most, len) = (most(log.len()), log.len());
        eprintln!("{what}: {tool} of {len} bytes takes {peak}, at most {most}");
        assert!(peak <= most, "{what}: {tool} of {len} bytes takes {peak}, expected at most {most}");
    }
}

/// Returns the header of a file of data version 1.
fn file(pid: u32) -> Vec<u8> {
    let mut bytes = 0x4d50_5a01_u32.to_le_bytes().to_vec();
    bytes.extend([0, 4, 1, 8]);
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(pid.to_le_bytes());
    bytes.extend([0; 4]);
    bytes
}

/// Returns a buffer without events.
fn buffer(time: u32, thread: u32) -> Vec<u8> {
    let mut bytes = 0x4d50_4c01_u32.to_le_bytes().to_vec();
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(u64::from(time).to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend(u64::from(thread).to_le_bytes());
    bytes.extend([0; 8]);
    bytes
}

#[test]
fn buffers_without_end() {
    let _alone = alone();
    let buffers = (1..many(150_000)).flat_map(|number| buffer(number, 1));
    let log: Vec<u8> = file(1).into_iter().chain(buffers).collect();
    check("buffers", &log, "");
}

#[test]
fn threads_without_end() {
    let _alone = alone();
    let buffers = (1..many(150_000)).flat_map(|number| buffer(number, number));
    let log: Vec<u8> = file(1).into_iter().chain(buffers).collect();
    check("threads", &log, "the log has more than");
}

#[test]
fn runs_without_end() {
    let _alone = alone();
    let runs = (1..many(100_000)).flat_map(|number| [file(number), buffer(number, 1)]);
    let log: Vec<u8> = runs.flatten().collect();
    check("runs", &log, "more than 1,000 runs; the rest is left out");
}

#[test]
fn damage_without_end() {
    let _alone = alone();
    let buffers = (1..many(150_000)).flat_map(|number| [buffer(number, 1), vec![7; 3]]);
    let log: Vec<u8> = file(1).into_iter().chain(buffers.flatten()).collect();
    check("damage", &log, "more than 65,536 damaged ranges; the rest is left out");
}

/// Each buffer has calls of methods of its own, which never end.
#[test]
fn methods_without_end() {
    let _alone = alone();
    let buffers = (1..many(20_000)).flat_map(|number| {
        // Enters of methods, each far from the one before.
        let events: Vec<u8> = (0..40).flat_map(|_| [0x23, 0x01, 0x80, 0x80, 0x01]).collect();
        let mut bytes = buffer(number, 1);
        bytes[4..8].copy_from_slice(&(events.len() as u32).to_le_bytes());
        bytes[40..48].copy_from_slice(&(u64::from(number) << 32).to_le_bytes());
        [bytes, events].concat()
    });
    let log: Vec<u8> = file(1).into_iter().chain(buffers).collect();
    check("methods", &log, "");
}
