//! Reads arbitrary bytes as a GHC eventlog, by time and in the order of the log. Bytes without a
//! header are also read behind one. Both orders have the same events, every byte is accounted for,
//! and the log that is written again is whole.
#![no_main]

use std::collections::BTreeSet;
use std::sync::Mutex;

use libfuzzer_sys::fuzz_target;
use telemetry_decode::{Order, Reader};
use telemetry_foreign::ghc::{GhcLog, Show, write};

/// Declares a type of each form.
const HEADER: &[u8] = b"hdrbhetb\
    etb\0\x00\x12\x00\x0e\0\0\0\0\0\0\0\0ete\0\
    etb\0\x00\x01\x00\x04\0\0\0\0\0\0\0\0ete\0\
    etb\0\x00\x09\x00\x00\0\0\0\0\0\0\0\0ete\0\
    etb\0\x00\x13\xff\xff\0\0\0\0\0\0\0\0ete\0\
    etb\0\x00\xa0\xff\xff\0\0\0\0\0\0\0\0ete\0\
    etb\0\x00\xa7\xff\xff\0\0\0\0\0\0\0\0ete\0\
    etb\0\x00\xcf\x00\x0d\0\0\0\0\0\0\0\0ete\0\
    etb\0\x03\x09\xff\xff\0\0\0\0\0\0\0\0ete\0\
    hetehdredatb";

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    if !bytes.starts_with(b"hdrb") {
        read(&[HEADER, bytes].concat());
    }
});

/// Returns true for a registry that was not examined yet. A short input may have hundreds, and
/// parsing one takes milliseconds.
fn is_new(fingerprint: u64) -> bool {
    static SEEN: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());
    SEEN.lock().unwrap().insert(fingerprint)
}

fn read(log: &[u8]) {
    let mut of_both = Vec::new();
    for order in [Order::Time, Order::Stream] {
        let mut events = Reader::from_log(log, GhcLog::new()).order(order).events().unwrap();
        let (mut show, mut text, mut number) = (Show::default(), Vec::new(), 0_u64);
        while let Some(event) = events.next().unwrap() {
            assert_eq!(event.values().len(), event.schema().params.len());
            show.event(&mut text, &event);
            number += 1;
        }
        show.end(&mut text);
        assert!(String::from_utf8(text).is_ok());
        let completeness = events.completeness();
        assert_eq!(completeness.bytes.total(), log.len() as u64);
        for known in events.registries().iter().filter(|known| is_new(known.fingerprint)) {
            let again = telemetry_schema::parse_embedded(&known.registry.to_toml());
            assert_eq!(again.ok().as_ref(), Some(&known.registry));
        }
        of_both.push(number);
    }
    assert_eq!(of_both[0], of_both[1]);
    let mut events = Reader::from_log(log, GhcLog::new()).events().unwrap();
    let mut again = Vec::new();
    let _ = write(&mut events, &mut again).unwrap();
    let mut events = Reader::from_log(&again, GhcLog::new()).events().unwrap();
    while events.next().unwrap().is_some() {}
    assert_eq!(events.completeness().bytes.total(), again.len() as u64);
}
