//! Streams cut into segments: each can be read alone, and together they have every event once.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use telemetry_decode::Registry;
use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_fleet::segment::{Cutter, Host, Inspector, Segment, SegmentName, shed};
use telemetry_fleet::spool::Spool;
use telemetry_testing::made::{Plan, make, registry};

use crate::rows::rows;

fn host() -> Host {
    "h7".parse().unwrap()
}

/// Cuts a stream of a host.
pub(crate) fn cut(dir: &Path, host: &str, stream: &[u8], max_len: u64) -> Vec<Segment> {
    let (mut cutter, mut segments) = (Cutter::new(dir, host.parse().unwrap(), max_len), Vec::new());
    let mut blocks = Blocks::from_slice(stream);
    while let Some(piece) = blocks.next().unwrap() {
        if let Piece::Block(block) = piece {
            segments.extend(cutter.push(&block).unwrap());
        }
    }
    segments.extend(cutter.finish().unwrap());
    segments
}

/// The registry, with a priority of its own for each kind.
pub(crate) fn with_priorities() -> Registry {
    let mut registry = registry();
    for (kind, priority) in registry.kinds.iter_mut().zip([2, 5, 9]) {
        kind.priority = priority;
    }
    registry
}

/// Checks that a collector takes a segment, and not under another name.
fn inspect(name: &SegmentName, bytes: &[u8]) {
    let mut inspector = Inspector::new(name, u64::MAX);
    inspector.push(bytes).unwrap();
    inspector.finish().unwrap();
    let other = SegmentName { intervals: name.intervals ^ 1, ..name.clone() };
    let mut inspector = Inspector::new(&other, u64::MAX);
    inspector.push(bytes).unwrap();
    assert!(inspector.finish().unwrap_err().starts_with("its intervals have the checksum "));
}

/// Checks the segments of a stream against the stream.
fn check(plan: &Plan, max_len: u64) -> Vec<Segment> {
    check_registry(&registry(), plan, max_len)
}

fn check_registry(registry: &Registry, plan: &Plan, max_len: u64) -> Vec<Segment> {
    let stream = make(registry, plan).stream;
    // It stays, because callers read the segments.
    let dir = tempfile::tempdir().unwrap().keep();
    let segments = cut(&dir, "h7", &stream, max_len);
    let wanted = rows(&stream);
    let (mut found, mut all) = (BTreeSet::new(), Vec::new());
    for segment in &segments {
        let bytes = std::fs::read(&segment.path).unwrap();
        assert_eq!(bytes.len() as u64, segment.len);
        inspect(&segment.name, &bytes);
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
    let left = std::fs::read_dir(&dir).unwrap().count();
    assert_eq!(left, segments.len(), "no other file is left");
    let again = tempfile::tempdir().unwrap();
    let again = cut(again.path(), "h7", &stream, max_len);
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

/// A shipper that runs for months meets more sessions than it can remember.
#[test]
fn sessions_are_forgotten_after_their_streams() {
    let plan = Plan { sessions: 3, events: 900, ..Plan::default() };
    let stream = make(&registry(), &plan).stream;
    let dir = tempfile::tempdir().unwrap();
    let (mut cutter, mut segments) = (Cutter::new(dir.path(), host(), 5_000), Vec::new());
    let contexts = || {
        let names = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.extension().is_some_and(|extension| extension == "context")).count()
    };
    // The second stream continues the same sessions from their beginning.
    for _ in 0..2 {
        let mut blocks = Blocks::from_slice(&stream);
        while let Some(piece) = blocks.next().unwrap() {
            let Piece::Block(block) = piece else { unreachable!("nothing is damaged") };
            segments.extend(cutter.push(&block).unwrap());
        }
        // Two streams have blocks of each session, and one of them has ended.
        for session in [1, 2, 3, 1, 2, 3] {
            cutter.join(session);
        }
        (1..=3).for_each(|session| cutter.leave(session));
        cutter.forget_older(Instant::now());
        assert_eq!(contexts(), 3, "a stream goes on");
        (1..=3).for_each(|session| cutter.leave(session));
        cutter.forget_older(Instant::now());
        assert_eq!(contexts(), 3, "segments are open");
        segments.extend(cutter.cut_all().unwrap());
        cutter.forget_older(Instant::now());
        assert_eq!(contexts(), 0);
    }
    let all: Vec<u8> = segments.iter().flat_map(|segment| std::fs::read(&segment.path).unwrap()).collect();
    assert_eq!(rows(&all).into_iter().collect::<BTreeSet<_>>(), rows(&stream).into_iter().collect());
}

#[test]
fn losses_and_compressed_blocks_stay() {
    check(&Plan { events: 500, lose: 7, compress: true, ..Plan::default() }, 3_000);
}

#[test]
fn kinds_of_other_priorities_are_apart() {
    let registry = with_priorities();
    let plan = Plan { events: 2000, threads: 3, block_size: 1024, flush: 5, ..Plan::default() };
    let segments = check_registry(&registry, &plan, 20_000);
    for segment in &segments {
        let bytes = std::fs::read(&segment.path).unwrap();
        let priority =
            |row: &crate::rows::Row| registry.kinds.iter().find(|kind| kind.bit == row.2).unwrap().priority;
        assert!(rows(&bytes).iter().all(|row| priority(row) == segment.priority));
    }
    let priorities: BTreeSet<_> = segments.iter().map(|segment| segment.priority).collect();
    assert_eq!(priorities.len(), 3, "{priorities:?}");
}

#[test]
fn a_segment_that_is_shed_tells_its_intervals() {
    let registry = with_priorities();
    let plan = Plan { events: 3000, block_size: 1024, flush: 5, lose: 50, ..Plan::default() };
    let stream = make(&registry, &plan).stream;
    let (dir, sheds) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut all, mut lost, mut claimed) = (Vec::new(), BTreeSet::new(), 0);
    for (number, segment) in cut(dir.path(), "h7", &stream, 10_000).iter().enumerate() {
        let bytes = std::fs::read(&segment.path).unwrap();
        let left = shed(&segment.path, &host(), sheds.path()).unwrap();
        if let Some((left, events)) = left.filter(|_| number % 3 == 1) {
            assert_eq!(rows(&std::fs::read(&left.path).unwrap()), []);
            assert_eq!(left.name.session, segment.name.session);
            inspect(&left.name, &std::fs::read(&left.path).unwrap());
            let again = shed(&left.path, &host(), sheds.path()).unwrap();
            assert_eq!(again, None, "it has nothing left");
            claimed += events;
            lost.extend(rows(&bytes));
            all.extend(std::fs::read(&left.path).unwrap());
        } else {
            all.extend(bytes);
        }
    }
    // Parts that the next segment repeats are not lost.
    let found: BTreeSet<_> = rows(&all).into_iter().collect();
    lost.retain(|row| !found.contains(row));
    assert!(!lost.is_empty() && claimed >= lost.len() as u64);
    assert_eq!(found.len() + lost.len(), rows(&stream).len());
    let intervals = crate::rows::shed_of(&all);
    for row in &lost {
        assert!(
            intervals.iter().any(|(lane, range)| *lane == (row.0, row.1, row.2) && range.contains(&row.3)),
            "{row:?}"
        );
    }
    let told: u64 = intervals.iter().map(|(_, range)| range.end - range.start).sum();
    assert_eq!(told, claimed);
}

/// A process that is killed leaves segments that are closed, and not ready yet.
#[test]
fn closed_segments_outlive_a_kill() {
    let spool_dir = tempfile::tempdir().unwrap();
    let spool = Spool::open(spool_dir.path()).unwrap();
    let stream = make(&registry(), &Plan { events: 900, ..Plan::default() }).stream;
    let segments = cut(&spool.live_dir(), "h7", &stream, 10_000);
    assert!(segments.len() > 2 && segments.iter().all(|segment| segment.path.exists()));
    let recovered = spool.recover(&host(), 1 << 20).unwrap();
    let all: Vec<_> = recovered.iter().flat_map(|segment| std::fs::read(&segment.path).unwrap()).collect();
    let found: BTreeSet<_> = rows(&all).into_iter().collect();
    assert_eq!(found, rows(&stream).into_iter().collect());
    assert_eq!(std::fs::read_dir(spool.live_dir()).unwrap().count(), 0);
}

/// An older shipper left segments under other names.
#[test]
fn an_older_spool_is_taken_up() {
    let (dir, spool) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let stream = make(&registry(), &Plan { events: 900, ..Plan::default() }).stream;
    let mut segments = cut(dir.path(), "h7", &stream, 10_000);
    let open = || Spool::open(spool.path()).unwrap();
    let of_spool = |spool: Spool| -> BTreeSet<_> {
        spool.ready().unwrap().into_iter().map(|(name, _, priority)| (name, priority)).collect()
    };
    let old = open();
    let wanted: BTreeSet<_> =
        segments.iter().map(|segment| (segment.name.clone(), segment.priority)).collect();
    for segment in &mut segments {
        segment.name.intervals ^= 1;
        old.add(segment).unwrap();
    }
    assert!(of_spool(old).is_disjoint(&wanted));
    std::fs::remove_file(spool.path().join("version")).unwrap();
    assert_eq!(of_spool(open()), wanted);
    assert_eq!(of_spool(open()), wanted);
}

#[test]
fn an_empty_stream_has_no_segment() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(cut(dir.path(), "h7", &[], 1000), []);
}
