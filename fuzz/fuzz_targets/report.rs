//! Reads arbitrary bytes as a stream, and makes its report: no panic, and a page of limited length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry_decode::{Order, Reader};
use telemetry_fuzz::stream;
use telemetry_report::{Gatherer, Head, Origin};

fuzz_target!(|data: &[u8]| {
    let Some((_, bytes)) = stream(data) else { return };
    let mut events = Reader::from_slice(&bytes).order(Order::Time).events().unwrap();
    let mut gathered = Gatherer::default();
    while let Some(event) = events.next().unwrap() {
        gathered.take(&event);
        gathered.settle(&events);
    }
    gathered.finish(&events);
    let origin = Origin { made_by: String::new(), inputs: Vec::new() };
    let page = gathered.page(&events, &Head::default(), &origin, &(), &()).unwrap();
    assert!(page.len() < 5_000_000);
});
