//! Parses arbitrary text as a condition and as a limit. A mistake can be shown. A condition that
//! fits the registry can be tested on every event.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use telemetry_decode::{Error, Filter, Order, Reader};
use telemetry_filter::{Condition, Limit};

/// Has a parameter of each sort. The byte before it selects a way of reading.
const STREAM: &[u8] = include_bytes!("../seeds/stream/every-sort");

fuzz_target!(|text: &str| {
    match Limit::parse(text) {
        Ok(limit) => assert_eq!(limit.text(), text),
        Err(error) => drop(error.to_string()),
    }
    let condition = match Condition::parse(text) {
        Ok(condition) => condition,
        Err(error) => return drop(error.to_string()),
    };
    let filter = Filter::default().condition(Some(Arc::new(condition) as Arc<_>));
    let reader = Reader::from_slice(&STREAM[1..]).order(Order::Stream).filter(filter);
    let mut events = match reader.events() {
        Ok(events) => events,
        Err(Error::Filter(text)) => return assert!(!text.is_empty()),
        Err(error) => panic!("{error}"),
    };
    loop {
        match events.next() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(Error::Filter(text)) => return assert!(!text.is_empty()),
            Err(error) => panic!("{error}"),
        }
    }
});
