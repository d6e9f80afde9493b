//! Streams cut into segments: each can be read alone, and together they have every event once.

use std::collections::BTreeSet;
use std::path::Path;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_fleet::segment::{Cutter, Host, Segment};
use telemetry_testing::made::{Plan, make, registry};

use crate::rows::rows;

fn host() -> Host {
    "h7".parse().unwrap()
}

fn cut(dir: &Path, stream: &[u8], max_len: u64) -> Vec<Segment> {
    let (mut cutter, mut segments) = (Cutter::new(dir, host(), max_len), Vec::new());
    let mut blocks = Blocks::from_slice(stream);
    while let Some(piece) = blocks.next().unwrap() {
        if let Piece::Block(block) = piece {
            segments.extend(cutter.push(&block).unwrap());
        }
    }
    segments.extend(cutter.finish().unwrap());
    segments
}

/// Checks the segments of a stream against the stream.
fn check(plan: &Plan, max_len: u64) -> Vec<Segment> {
    let stream = make(&registry(), plan).stream;
    let dir = tempfile::tempdir().unwrap();
    let segments = cut(dir.path(), &stream, max_len);
    let wanted = rows(&stream);
    let (mut found, mut all) = (BTreeSet::new(), Vec::new());
    for segment in &segments {
        let bytes = std::fs::read(&segment.path).unwrap();
        assert_eq!(bytes.len() as u64, segment.len);
        let alone = rows(&bytes);
        assert!(alone.iter().all(|row| row.0 == segment.name.session), "one session");
        found.extend(alone);
        all.extend(bytes);
    }
    assert_eq!(found, wanted.iter().cloned().collect(), "read alone");
    assert_eq!(rows(&all).len(), wanted.len(), "read together, each event once");
    let events: u64 = segments.iter().map(|segment| segment.events).sum();
    assert_eq!(events, wanted.len() as u64, "each event is new in one segment");
    let names: BTreeSet<_> = segments.iter().map(|segment| segment.name.to_string()).collect();
    assert_eq!(names.len(), segments.len(), "names differ");
    let left = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, segments.len(), "no other file is left");
    let again = tempfile::tempdir().unwrap();
    let again = cut(again.path(), &stream, max_len);
    let name = |segment: &Segment| (segment.name.clone(), segment.len);
    assert_eq!(again.iter().map(name).collect::<Vec<_>>(), segments.iter().map(name).collect::<Vec<_>>());
    segments
}

#[test]
fn a_short_stream_is_one_segment() {
    assert_eq!(check(&Plan::default(), 1 << 20).len(), 1);
}

#[test]
fn blocks_go_on_in_the_next_segment() {
    // A flush after each other event leaves most blocks unfinished.
    let plan = Plan { events: 2000, threads: 3, block_size: 4096, flush: 2, ..Plan::default() };
    assert!(check(&plan, 20_000).len() > 5);
}

#[test]
fn every_block_may_be_a_segment() {
    check(&Plan { events: 300, ..Plan::default() }, 1);
}

#[test]
fn sessions_have_segments_of_their_own() {
    let plan = Plan { sessions: 100, events: 40, ..Plan::default() };
    assert!(check(&plan, 1 << 20).len() >= 100);
    check(&Plan { sessions: 3, events: 900, ..plan }, 5_000);
}

#[test]
fn losses_and_compressed_blocks_stay() {
    check(&Plan { events: 500, lose: 7, compress: true, ..Plan::default() }, 3_000);
}

#[test]
fn an_empty_stream_has_no_segment() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(cut(dir.path(), &[], 1000), []);
}
