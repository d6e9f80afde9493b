//! Forged logs of the Memory Pool System.

use telemetry_foreign::mps::MpsLog;
use telemetry_testing::counting::alone;

use crate::{check, many};

/// Codes of events.
const CLOCK_SYNC: u16 = 0x1c;
const INIT: u16 = 0x1d;
const INTERN: u16 = 0x21;
const MAX_CODE: u32 = 0x5c;

/// Returns an event.
fn event(code: u16, ticks: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = code.to_le_bytes().to_vec();
    bytes.extend((16 + payload.len() as u16).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(ticks.to_le_bytes());
    bytes.extend(payload);
    bytes
}

/// Returns the first event of a log.
fn init(ticks: u64) -> Vec<u8> {
    let numbers = [2_u32, 0, 0, MAX_CODE, 32, 64].into_iter().flat_map(u32::to_le_bytes);
    let payload: Vec<u8> = numbers.chain(1_000_000_u64.to_le_bytes()).collect();
    event(INIT, ticks, &payload)
}

fn clock_sync(ticks: u64) -> Vec<u8> {
    event(CLOCK_SYNC, ticks, &ticks.to_le_bytes())
}

/// Each batch is earlier than the one before it.
#[test]
fn batches_that_go_back() {
    let _alone = alone();
    let batches = many(150_000);
    let mut log = init(1);
    for number in 0..batches {
        let ticks = u64::from(batches - number) * 10;
        for event in 0..2 {
            log.extend(clock_sync(ticks + event));
        }
        // Damage ends an extent.
        if number % 4 == 0 {
            log.extend([0xff; 8]);
        }
    }
    check("batches that go back", &log, MpsLog::new(), "");
}

#[test]
fn runs_without_end() {
    let _alone = alone();
    let runs = (0..many(100_000)).flat_map(|number| [init(number.into()), clock_sync(u64::from(number) + 1)]);
    let log: Vec<u8> = runs.flatten().collect();
    check("runs", &log, MpsLog::new(), "more than 1,000 runs; the rest is left out");
}

/// Each run has strings of its own.
#[test]
fn names_without_end() {
    let _alone = alone();
    let mut log = Vec::new();
    for run in 0..u64::from(many(1)) {
        log.extend(init(run * 1_000_000));
        for number in 0..100_000_u64 {
            let ticks = run * 1_000_000 + number;
            let mut payload = (run << 32 | number).to_le_bytes().to_vec();
            payload.extend([b'x'; 236]);
            payload.extend([0; 4]);
            log.extend(event(INTERN, ticks, &payload));
        }
    }
    check("names", &log, MpsLog::new(), "");
}
