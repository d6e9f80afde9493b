//! Reads arbitrary bytes as a log of the MPS, in every order, strict and lenient: every byte is
//! accounted for, and every event that was counted is returned. The events that are written are a
//! log again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry_decode::{Order, Reader};
use telemetry_foreign::mps::{self, MpsLog};

fuzz_target!(|log: &[u8]| {
    mps::recognize(&log[..log.len().min(4096)]);
    for is_lenient in [false, true] {
        for order in [Order::Stream, Order::Time] {
            let reader = Reader::from_log(log, MpsLog::new().lenient(is_lenient)).order(order);
            let mut events = reader.events().expect("memory can be read");
            let counted: u64 = events.log_counts().into_iter().flatten().map(|count| count.count).sum();
            let mut found = 0;
            while let Some(event) = events.next().expect("memory can be read") {
                found += 1;
                for value in event.values() {
                    event.name_of_value(&value);
                }
            }
            let completeness = events.completeness();
            assert_eq!((found, completeness.bytes.total()), (counted, log.len() as u64));
        }
        let mut events =
            Reader::from_log(log, MpsLog::new().lenient(is_lenient)).events().expect("memory can be read");
        let mut again = Vec::new();
        let written = mps::write(&mut events, &mut again).expect("memory takes it all");
        assert!(written.events <= events.completeness().events);
        let events =
            Reader::from_log(&again, MpsLog::new().lenient(true)).events().expect("memory can be read");
        let counted: u64 = events.log_counts().into_iter().flatten().map(|count| count.count).sum();
        let damaged = events.completeness().bytes.damaged;
        assert!(counted > 0 || again.len() as u64 == damaged);
    }
});
