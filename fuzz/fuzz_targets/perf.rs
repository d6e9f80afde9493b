//! Reads arbitrary text as that of `perf script`. What is written has no damage, and all events
//! that were counted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry_decode::Reader;
use telemetry_foreign::perf::{self, Anchor};

fuzz_target!(|text: &[u8]| {
    let _ = (perf::recognize(text), perf::other_clock(text));
    let anchor = perf::anchor(text).unwrap_or(Anchor { raw_ns: 1_000, wall_ns: 1 << 60 });
    let mut stream = Vec::new();
    let written = match perf::write_stream(text, &mut &*text, anchor, &mut stream) {
        Ok(written) => written,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut events = Reader::from_slice(&stream).events().unwrap();
    let mut read = 0;
    while let Some(event) = events.next().unwrap() {
        read += 1;
        event.params().for_each(|param| drop(param.value.to_string()));
    }
    let completeness = events.completeness();
    assert!(completeness.is_complete() && read == written, "{read} of {written}: {completeness}");
});
