//! Forged logs of the Mono log profiler.

use telemetry_foreign::mono::MonoLog;
use telemetry_testing::counting::alone;

use crate::{check, many};

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
    check("buffers", &log, MonoLog::new(), "");
}

#[test]
fn threads_without_end() {
    let _alone = alone();
    let buffers = (1..many(150_000)).flat_map(|number| buffer(number, number));
    let log: Vec<u8> = file(1).into_iter().chain(buffers).collect();
    check("threads", &log, MonoLog::new(), "the log has more than");
}

#[test]
fn runs_without_end() {
    let _alone = alone();
    let runs = (1..many(100_000)).flat_map(|number| [file(number), buffer(number, 1)]);
    let log: Vec<u8> = runs.flatten().collect();
    check("runs", &log, MonoLog::new(), "more than 1,000 runs; the rest is left out");
}

#[test]
fn damage_without_end() {
    let _alone = alone();
    let buffers = (1..many(150_000)).flat_map(|number| [buffer(number, 1), vec![7; 3]]);
    let log: Vec<u8> = file(1).into_iter().chain(buffers.flatten()).collect();
    check("damage", &log, MonoLog::new(), "more than 65,536 damaged ranges; the rest is left out");
}
