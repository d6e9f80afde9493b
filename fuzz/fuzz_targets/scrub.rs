//! Scrubs arbitrary bytes as a stream. What is written has no damage, and no more events. It can be
//! scrubbed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry_decode::scrub::{Method, Scrub};
use telemetry_decode::{Completeness, Order, Reader};
use telemetry_fuzz::stream;

fuzz_target!(|data: &[u8]| {
    let Some((mode, bytes)) = stream(data) else { return };
    let method = |at: u8| Method::ALL[usize::from(mode >> at) % Method::ALL.len()];
    let mut how = Scrub::default();
    (how.personal, how.secret, how.key) = (method(1), method(3), [mode; 16]);
    how.keep = u32::from(mode >> 5);
    let scrubbed = scrub(&bytes, &how);
    let (before, after) = (read(&bytes), read(&scrubbed));
    assert!(after.damage.is_empty(), "{after}");
    assert!(after.events <= before.events, "{before}\n{after}");
    assert_eq!(read(&scrub(&scrubbed, &Scrub::default())).events, after.events);
});

fn scrub(stream: &[u8], how: &Scrub) -> Vec<u8> {
    let mut out = Vec::new();
    Reader::from_slice(stream).scrub(how, &mut out).unwrap();
    out
}

fn read(stream: &[u8]) -> Completeness {
    let mut events = Reader::from_slice(stream).order(Order::Stream).events().unwrap();
    while events.next().unwrap().is_some() {}
    events.completeness()
}
