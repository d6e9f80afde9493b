//! Reads arbitrary bytes as a stream in every way: no panic, no hang, every byte accounted for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use telemetry_decode::{Completeness, Events, Filter, Order, Reader};
use telemetry_format::{HEADER_LEN, MAGIC};

fuzz_target!(|data: &[u8]| {
    let Some((mode, bytes)) = data.split_first() else { return };
    let mut bytes = bytes.to_vec();
    if mode & 1 != 0 {
        make_checksums_right(&mut bytes);
    }
    let filter = Filter::default()
        .kinds(if mode & 2 != 0 { &["Cell", "7"][..] } else { &[] }.iter().copied())
        .from_ns((mode & 4 != 0).then_some(1_000))
        .until_ns((mode & 8 != 0).then_some(1_000_000));
    for order in [Order::Stream, Order::Time] {
        let reader = Reader::from_slice(&bytes).order(order).filter(filter.clone());
        check(&read(reader.events().unwrap()), &bytes);
    }
    let reader = Reader::from_reader(&bytes[..]).order(Order::Stream).filter(filter);
    check(&read(reader.events().unwrap()), &bytes);
    check(&Reader::from_slice(&bytes).index().unwrap().completeness, &bytes);
});

fn read(mut events: Events) -> Completeness {
    while let Some(event) = events.next().unwrap() {
        let _ = (event.kind(), event.thread_name(), event.wall_ns());
        for param in event.params() {
            let _ = param.value.to_string();
        }
    }
    events.completeness()
}

fn check(completeness: &Completeness, bytes: &[u8]) {
    assert_eq!(completeness.bytes.total(), bytes.len() as u64);
    let _ = completeness.to_string();
}

/// Gives every block the checksums that it should have, as far as its lengths make sense.
fn make_checksums_right(bytes: &mut [u8]) {
    let mut at = 0;
    while at + HEADER_LEN <= bytes.len() {
        if bytes[at..at + 8] != MAGIC {
            at += 1;
            continue;
        }
        let header_len = usize::from(u16::from_le_bytes([bytes[at + 10], bytes[at + 11]]));
        let len =
            u32::from_le_bytes([bytes[at + 16], bytes[at + 17], bytes[at + 18], bytes[at + 19]]) as usize;
        let payload = bytes.get(at + header_len..at + header_len + len);
        let crc = payload.map_or(0, crc32c::crc32c);
        let header = &mut bytes[at..at + HEADER_LEN];
        header[136..140].copy_from_slice(&crc.to_le_bytes());
        let crc = crc32c::crc32c(&header[..140]);
        header[140..].copy_from_slice(&crc.to_le_bytes());
        at += HEADER_LEN;
    }
}
