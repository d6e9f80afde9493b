//! Forged eventlogs.

use telemetry_foreign::ghc::GhcLog;
use telemetry_testing::counting::alone;
use telemetry_testing::eventlog::header;

use crate::{check, many};

#[test]
fn headers_without_end() {
    let _alone = alone();
    for declared in [1, 30] {
        let mut log = Vec::new();
        for number in 0..1_500 {
            let types = (0..declared).map(|tag| (300 + tag, number, "d"));
            log.extend(header(types));
            log.extend([0xff, 0xff]);
        }
        check("headers", &log, GhcLog::new(), "whose headers differ");
    }
}

#[test]
fn types_without_end() {
    let _alone = alone();
    let mut log = header((1_000..=65_000).map(|tag| (tag, 8, "d")));
    log.extend([0xff, 0xff]);
    check("types", &log, GhcLog::new(), "beyond 4096");
}

/// Returns the types of blocks and of an event.
fn types() -> Vec<u8> {
    header([(18, 14, "b"), (1, 4, "r")])
}

/// Returns a block with an event.
fn block(time: u32, capability: u16) -> Vec<u8> {
    let (time, number) = (u64::from(time), time);
    let mut bytes = 18_u16.to_be_bytes().to_vec();
    bytes.extend(time.to_be_bytes());
    bytes.extend((24_u32 + 14).to_be_bytes());
    bytes.extend((time + 1).to_be_bytes());
    bytes.extend(capability.to_be_bytes());
    bytes.extend(1_u16.to_be_bytes());
    bytes.extend(time.to_be_bytes());
    bytes.extend(number.to_be_bytes());
    bytes
}

#[track_caller]
fn check_blocks(what: &str, blocks: impl Iterator<Item = Vec<u8>>, says: &str) {
    let log: Vec<u8> = types().into_iter().chain(blocks.flatten()).chain([0xff, 0xff]).collect();
    check(what, &log, GhcLog::new(), says);
}

/// A block of each capability in turn, with times that go back. Each block is an extent, and the
/// log has the most lanes that are allowed.
#[test]
fn capabilities_without_end() {
    let _alone = alone();
    let blocks = many(150_000);
    let all = (0..blocks).map(|number| block(50_000 + blocks - number, number as u16 % 60_000));
    check_blocks("capabilities", all, "the log has more than");
}

/// Two capabilities in turn: each block is an extent.
#[test]
fn extents_without_end() {
    let _alone = alone();
    let all = (0..many(150_000)).map(|number| block(number, number as u16 % 2));
    check_blocks("extents", all, "");
}

#[test]
fn damage_without_end() {
    let _alone = alone();
    let all = (0..many(150_000)).map(|number| [block(number, 1), vec![7; 3]].concat());
    check_blocks("damage", all, "more than 65,536 damaged ranges; the rest is left out");
}
