//! Memory is bounded by the log's length, and absolutely: forged eventlogs. This is a process of
//! its own, which counts its allocations.
#![allow(unsafe_code)]

use telemetry_decode::{Completeness, Reader};
use telemetry_foreign::ghc::GhcLog;
use telemetry_testing::counting::{Counting, alone, most, peak};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the header of a log that declares types with their sizes.
fn header(types: impl Iterator<Item = (u16, u16, String)>) -> Vec<u8> {
    let mut bytes = b"hdrbhetb".to_vec();
    for (tag, size, description) in types {
        bytes.extend(b"etb\0");
        bytes.extend(tag.to_be_bytes());
        bytes.extend(size.to_be_bytes());
        bytes.extend((description.len() as u32).to_be_bytes());
        bytes.extend(description.bytes());
        bytes.extend([0; 4]);
        bytes.extend(b"ete\0");
    }
    bytes.extend(b"hetehdredatb");
    bytes
}

#[track_caller]
fn check(what: &str, log: &[u8]) -> Completeness {
    let mut read = None;
    let peak = peak(|| {
        let mut events = Reader::from_log(log, GhcLog::new()).events().unwrap();
        while events.next().unwrap().is_some() {}
        read = Some(events.completeness());
    });
    let (most, len) = (most(log.len()), log.len());
    eprintln!("{what}: {len} bytes take {peak}, at most {most}");
    assert!(peak <= most, "{what}: {len} bytes take {peak}, expected at most {most}");
    let read = read.unwrap();
    assert_eq!(read.bytes.total(), log.len() as u64, "{what}");
    read
}

#[test]
fn headers_without_end() {
    let _alone = alone();
    for declared in [1, 30] {
        let mut log = Vec::new();
        for number in 0..1_500 {
            let types = (0..declared).map(|tag| (300 + tag, number, "d".to_string()));
            log.extend(header(types));
            log.extend([0xff, 0xff]);
        }
        let found = check("headers", &log);
        assert!(!found.is_complete());
        assert!(found.to_string().contains("whose headers differ"), "{found}");
    }
}

#[test]
fn types_without_end() {
    let _alone = alone();
    let mut log = header((1_000..=65_000).map(|tag| (tag, 8, "d".to_string())));
    log.extend([0xff, 0xff]);
    let found = check("types", &log);
    assert!(!found.is_complete());
    assert!(found.to_string().contains("beyond 4096"), "{found}");
}

/// A block of each capability in turn, with times that go back. Each block is an extent, and the
/// log has the most lanes that are allowed.
#[test]
fn capabilities_without_end() {
    let _alone = alone();
    let mut log = header([(18, 14, "b".to_string()), (1, 4, "r".to_string())].into_iter());
    for number in 0..150_000_u32 {
        let time = u64::from(200_000 - number);
        log.extend(18_u16.to_be_bytes());
        log.extend(time.to_be_bytes());
        log.extend((24_u32 + 14).to_be_bytes());
        log.extend((time + 1).to_be_bytes());
        log.extend((number as u16 % 60_000).to_be_bytes());
        log.extend(1_u16.to_be_bytes());
        log.extend(time.to_be_bytes());
        log.extend(number.to_be_bytes());
    }
    log.extend([0xff, 0xff]);
    let found = check("capabilities", &log);
    assert!(found.to_string().contains("times go back"), "{found}");
}
