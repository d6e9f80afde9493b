//! Reads arbitrary bytes as a log of the Mono profiler in every way, and writes it again: no panic,
//! no hang, every byte accounted for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry_decode::foreign::LogBytes;
use telemetry_decode::{Order, Reader};
use telemetry_foreign::mono::{MonoLog, ReportOptions, debug, report, write};

/// The headers of a file and of a buffer of data version 1. The first byte of the input may make it
/// version 17.
const HEADERS: &[u8] = b"\x01\x5a\x50\x4d\x00\x01\x01\x08\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \x01\x4c\x50\x4d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

fuzz_target!(|data: &[u8]| {
    let Some((mode, data)) = data.split_first() else { return };
    let mut log = data.to_vec();
    if mode & 1 != 0 {
        log = [HEADERS, data].concat();
        if mode & 2 != 0 {
            log[6] = 17;
        }
    }
    for order in [Order::Stream, Order::Time] {
        let mut events = Reader::from_log(&log, MonoLog::new()).order(order).events().unwrap();
        while let Some(event) = events.next().unwrap() {
            for param in event.params() {
                let _ = param.value.to_string();
            }
        }
        assert_eq!(events.completeness().bytes.total(), log.len() as u64);
    }
    let damaged = debug(&mut LogBytes::from_slice(&log), &mut std::io::sink()).unwrap();
    let options = ReportOptions::default().traces(mode & 4 != 0).verbose(true);
    assert_eq!(report(&mut LogBytes::from_slice(&log), options, &mut std::io::sink()).unwrap(), damaged);
    let mut again = Vec::new();
    let _ = write(&mut Reader::from_log(&log, MonoLog::new()).events().unwrap(), &mut again).unwrap();
    if !again.is_empty() {
        let _ = debug(&mut LogBytes::from_slice(&again), &mut std::io::sink()).unwrap();
    }
});
