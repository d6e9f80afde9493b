//! Kinds with sensitive parameters stay on the host, and how many events stay is exact.

use std::collections::BTreeSet;
use std::path::Path;

use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::scrub::Scrub;
use telemetry_decode::{Completeness, Reader, Registry};
use telemetry_fleet::segment::{Cutter, Inspector, Segment, shed};
use telemetry_fleet::spool::Spool;
use telemetry_testing::made::{Plan, blocks, edit, header, make};
use telemetry_testing::wait;

use crate::collect::{Fleet, with};
use crate::rows::{Row, rows};
use crate::segments::cut;
use crate::ship::{files_in, said};
use crate::texts::{LABEL, PERSON, SECRET, SHARED, has, private, with_texts};

/// The events of the kinds that leave the host.
fn leaving(rows: Vec<Row>) -> BTreeSet<Row> {
    rows.into_iter().filter(|row| row.2 != PERSON).collect()
}

fn completeness(stream: &[u8]) -> Completeness {
    let mut events = Reader::from_slice(stream).events().unwrap();
    while events.next().unwrap().is_some() {}
    events.completeness()
}

/// Checks the segments of a stream of `private` against the stream.
fn check(registry: &Registry, plan: &Plan, max_len: u64) {
    let made = make(registry, plan);
    let dir = tempfile::tempdir().unwrap();
    let segments = cut(dir.path(), "h7", &made.stream, max_len);
    let all: Vec<u8> = segments.iter().flat_map(read).collect();
    assert!(rows(&all).into_iter().collect::<BTreeSet<_>>() == leaving(rows(&made.stream)), "{plan:?}");
    let (mut before, mut after) = (completeness(&made.stream), completeness(&all));
    assert!(after.missing() == 0 && after.damage.is_empty(), "{plan:?}: {after}");
    assert_eq!(before.lanes.len(), after.lanes.len());
    for lanes in [&mut before.lanes, &mut after.lanes] {
        lanes.sort_by_key(|lane| (lane.session, lane.thread, lane.kind));
    }
    for (before, after) in before.lanes.iter().zip(&after.lanes) {
        assert_eq!((before.session, before.thread, before.kind), (after.session, after.thread, after.kind));
        assert_eq!(after.lost, before.lost);
        let stays = if before.kind == PERSON { before.read } else { 0 };
        assert_eq!((after.read, after.excluded), (before.read - stays, before.excluded + stays), "{plan:?}");
    }
    for segment in &segments {
        let bytes = read(segment);
        let mut inspector = Inspector::new(&segment.name, u64::MAX);
        inspector.push(&bytes).unwrap();
        inspector.finish().unwrap();
        // A segment that is cut again stays as it is.
        let again = tempfile::tempdir().unwrap();
        let again: Vec<_> = cut(again.path(), "h7", &bytes, u64::MAX).iter().flat_map(read).collect();
        assert_eq!(headers(&again), headers(&bytes));
        // What states only sums has nothing to shed, and is not longer afterwards.
        if let Some((left, events)) = shed(&segment.path, &"h7".parse().unwrap(), dir.path()).unwrap() {
            assert!(events > 0 && left.len <= segment.len + 144 * 8, "{} of {}", left.len, segment.len);
            let stays = [&bytes, &read(&left)].map(|stream| {
                let lanes = completeness(stream).lanes;
                lanes.iter().filter(|lane| lane.kind == PERSON).map(|lane| lane.excluded).sum::<u64>()
            });
            assert_eq!(stays[0], stays[1], "{plan:?}");
        }
    }
}

fn read(segment: &Segment) -> Vec<u8> {
    std::fs::read(&segment.path).unwrap()
}

/// The blocks of a stream, without their order.
fn headers(stream: &[u8]) -> BTreeSet<Vec<u8>> {
    blocks(stream).into_iter().map(|block| header(&stream[block]).encode(crc32c::crc32c).to_vec()).collect()
}

#[test]
fn sensitive_kinds_are_excluded_exactly() {
    let mut registry = private();
    let plan = Plan { events: 1200, threads: 3, block_size: 512, ..Plan::default() };
    for (number, max_len) in [(1, 1 << 20), (2, 20_000), (3, 1)] {
        check(&registry, &Plan { seed: number, ..plan.clone() }, max_len);
        check(&registry, &Plan { seed: number, lose: 9, flush: 3, ..plan.clone() }, max_len);
        check(
            &registry,
            &Plan { seed: number, sessions: 3, end: false, compress: true, ..plan.clone() },
            max_len,
        );
    }
    registry.kinds.iter_mut().zip([2, 5, 9]).for_each(|(kind, priority)| kind.priority = priority);
    check(&registry, &Plan { lose: 9, ..plan }, 20_000);
}

/// Without its registry, it is not known what a block has.
#[test]
fn events_of_an_unknown_registry_are_missing() {
    let plan = Plan { events: 300, threads: 1, ..Plan::default() };
    let mut stream = make(&private(), &plan).stream;
    let registry = blocks(&stream).into_iter().find(|block| header(&stream[block.clone()]).registry != 0);
    stream.drain(registry.unwrap());
    let dir = tempfile::tempdir().unwrap();
    let all: Vec<u8> = cut(dir.path(), "h7", &stream, 5000).iter().flat_map(read).collect();
    assert!(headers(&all).iter().all(|header| telemetry_testing::made::header(header).events == 0));
    let after = completeness(&all);
    assert_eq!((after.missing(), after.excluded()), (300, 0), "{after}");
}

/// Checks what leaves the host of [`with_texts`].
fn check_texts(all: &[u8], labels: u64) {
    assert!(!has(all, SECRET) && !has(all, LABEL) && has(all, SHARED));
    let after = completeness(all);
    assert!(after.is_complete(), "{after}");
    // All labels, and all of `Login` and `VisitStart`.
    let excluded = 200 + 200 + (200 - labels);
    assert_eq!((after.lanes.iter().map(|lane| lane.read).sum::<u64>(), after.excluded()), (400, excluded));
}

/// If a sensitive parameter is a label, the texts of all labels stay. So do those that came before
/// its registry and are in a segment that is open.
#[test]
fn texts_of_labels_stay() {
    let stream = with_texts(100);
    assert!(has(&stream, SECRET) && has(&stream, LABEL));
    let dir = tempfile::tempdir().unwrap();
    let segments = cut(dir.path(), "h7", &stream, 1 << 20);
    check_texts(&segments.iter().flat_map(read).collect::<Vec<_>>(), 100);
    assert_eq!(files_in(dir.path()).len(), segments.len(), "nothing else is left");
    // Those that a segment had before are not repeated.
    let dir = tempfile::tempdir().unwrap();
    let segments = cut(dir.path(), "h7", &stream, 3000);
    let texts: Vec<_> = segments.iter().map(|segment| has(&read(segment), LABEL)).collect();
    let known = texts.iter().rposition(|has_text| *has_text).unwrap();
    assert!(texts[..known].iter().all(|has_text| *has_text) && known + 3 < texts.len(), "{texts:?}");
    let all: Vec<_> = segments.iter().flat_map(read).collect();
    assert!(!has(&all, SECRET) && has(&all, &format!("{LABEL}-0")) && !has(&all, &format!("{LABEL}-150")));
    assert!(completeness(&all).is_complete());
}

/// Nothing of a scrubbed session stays, unless it is there as it was, too.
#[test]
fn what_is_scrubbed_leaves_the_host() {
    let (stream, mut scrubbed) = (with_texts(0), Vec::new());
    Reader::from_slice(&stream).scrub(&Scrub::default(), &mut scrubbed).unwrap();
    let leaving = |stream: &[u8], max_len| -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        cut(dir.path(), "h7", stream, max_len).iter().flat_map(read).collect()
    };
    for max_len in [1 << 20, 3000] {
        let all = leaving(&scrubbed, max_len);
        assert!(rows(&all).into_iter().collect::<BTreeSet<_>>() == rows(&scrubbed).into_iter().collect());
        assert_eq!((rows(&all).len(), completeness(&all).excluded()), (1000, 0));
    }
    for both in [[&stream[..], &scrubbed].concat(), [&scrubbed[..], &stream].concat()] {
        let all = leaving(&both, 1 << 20);
        assert!(!has(&all, SECRET) && !has(&all, LABEL) && completeness(&all).excluded() > 0);
    }
    // Its segments wait in the spool of an older shipper.
    let dir = tempfile::tempdir().unwrap();
    let old = open(dir.path()).send_sensitive(true);
    for segment in cut_all(&old.open_dir(), &scrubbed, 3000) {
        old.add(&segment).unwrap();
    }
    let names =
        |spool: &Spool| -> Vec<_> { spool.ready().unwrap().into_iter().map(|(name, ..)| name).collect() };
    let before = names(&old);
    drop(old);
    let new = open(dir.path());
    new.recover(&"h7".parse().unwrap(), 1 << 20).unwrap();
    assert!(before.len() > 1 && names(&new) == before);
}

/// Opens a spool that was just closed. A process that another test starts has its lock, too, until
/// it runs its program.
fn open(dir: &Path) -> Spool {
    let mut spool = None;
    wait::until("the spool is free", || {
        spool = Spool::open(dir).ok();
        spool.is_some()
    });
    spool.unwrap()
}

/// Cuts everything, as an older shipper does.
fn cut_all(dir: &Path, stream: &[u8], max_len: u64) -> Vec<Segment> {
    let mut cutter = Cutter::new(dir, "h7".parse().unwrap(), max_len).send_sensitive(true);
    let (mut blocks, mut segments) = (Blocks::from_slice(stream), Vec::new());
    while let Some(Piece::Block(block)) = blocks.next().unwrap() {
        segments.extend(cutter.push(&block).unwrap());
    }
    segments.extend(cutter.finish().unwrap());
    segments
}

#[test]
fn what_an_older_shipper_left_is_cut_again() {
    let (dir, stream) = (tempfile::tempdir().unwrap(), with_texts(0));
    let in_spool = || -> Vec<u8> {
        let files = files_in(dir.path()).into_iter().filter(|path| path.extension().is_some());
        files.flat_map(|path| std::fs::read(path).unwrap()).collect()
    };
    let recover = |sends| {
        let spool = open(dir.path()).send_sensitive(sends);
        spool.recover(&"h8".parse().unwrap(), 1 << 20).unwrap();
        assert!(spool.ready().unwrap().iter().all(|(name, ..)| name.host.as_str() == "h7"));
    };
    let put = || {
        let spool = open(dir.path()).send_sensitive(true);
        for segment in cut_all(&spool.open_dir(), &stream, 3000) {
            spool.add(&segment).unwrap();
        }
    };
    put();
    recover(true);
    assert_eq!(rows(&in_spool()).len(), rows(&stream).len());
    recover(false);
    check_texts(&in_spool(), 0);
    // Not read again: this process has made them all.
    let before = in_spool();
    recover(false);
    assert!(in_spool() == before);
    // What was sent on purpose, and is not any more.
    recover(true);
    put();
    recover(false);
    check_texts(&in_spool(), 0);
    // What an older version left after a rollback. It may know the marker of versions between.
    std::fs::write(dir.path().join("withheld"), "").unwrap();
    put();
    recover(false);
    check_texts(&in_spool(), 0);
    assert!(!dir.path().join("withheld").exists());
}

/// A file was cut, but not removed, and is cut again with another choice.
#[test]
fn a_segment_is_in_the_spool_once() {
    let dir = tempfile::tempdir().unwrap();
    let plan = Plan { events: 600, ..Plan::default() };
    let stream = make(&telemetry_testing::made::registry(), &plan).stream;
    let folder = |sends| dir.path().join(if sends { "ready/p5" } else { "ready/p05" });
    for sends in [false, true, false] {
        let spool = open(dir.path()).send_sensitive(sends);
        let mut wanted = BTreeSet::new();
        spool.recover(&"h7".parse().unwrap(), 1 << 20).unwrap();
        for segment in cut_all(&spool.open_dir(), &stream, 3000) {
            let path = spool.add(&segment).unwrap();
            // A crash may leave it in both, which the next start finds.
            let other = folder(!sends).join(path.strip_prefix(folder(sends)).unwrap());
            wanted.insert((segment.name, path, segment.priority, other));
        }
        let wanted_ready = wanted.iter().map(|(name, path, priority, _)| (name, path, priority));
        let ready = spool.ready().unwrap();
        let found = ready.iter().map(|(name, path, priority)| (name, path, priority));
        assert!(wanted.len() > 1 && found.eq(wanted_ready), "{ready:?}");
        for (_, path, _, other) in &wanted {
            std::fs::create_dir_all(other.parent().unwrap()).unwrap();
            std::fs::copy(path, other).unwrap();
        }
    }
}

/// The command: to a directory, and to a collector.
#[test]
fn no_secret_leaves_the_host() {
    let mut fleet = Fleet::new();
    let collector = fleet.collector();
    let file = fleet.host.path("shop.tel");
    std::fs::write(&file, with_texts(100)).unwrap();
    fleet.host.files = vec![file];
    let of_store = || fleet.host.objects().concat();
    let command = |to| match to {
        "directory" => fleet.host.command("spool", &fleet.host.store()),
        _ => with(fleet.shipper("spool", collector.port), &fleet.client),
    };
    for to in ["directory", "collector"] {
        let run = said(&command(to).output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{to}");
        assert!(run.stdout.contains("; 400 events, "), "{to}: {}", run.stdout);
        check_texts(&of_store(), 100);
        std::fs::remove_dir_all(fleet.host.path("store/segments")).unwrap();
        let run = said(&command(to).arg("--send-sensitive").output().unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{to}");
        assert!(has(&of_store(), SECRET) && has(&of_store(), LABEL), "{to}");
        assert_eq!(completeness(&of_store()).excluded(), 0);
        std::fs::remove_dir_all(fleet.host.path("store/segments")).unwrap();
    }
    // The same in a file with options.
    let config = fleet.host.path("ship.toml");
    std::fs::write(&config, "send-sensitive = true\n").unwrap();
    let mut command = fleet.host.command("spool", &fleet.host.store());
    assert_eq!(said(&command.arg("--config").arg(config).output().unwrap()).code, Some(0));
    assert!(has(&of_store(), SECRET));
}

/// Damaged sums harm nothing.
#[test]
fn sums_beyond_all_events_are_taken() {
    let mut stream = make(&private(), &Plan { events: 200, ..Plan::default() }).stream;
    for block in blocks(&stream) {
        edit(&mut stream[block], |header| {
            if header.block_type == telemetry_format::BlockType::Events && header.kind == PERSON {
                (header.before, header.lost.sink) = (u64::MAX - 1, u64::MAX);
            }
        });
    }
    let dir = tempfile::tempdir().unwrap();
    let all: Vec<u8> = cut(dir.path(), "h7", &stream, 5000).iter().flat_map(read).collect();
    assert!(rows(&all).iter().all(|row| row.2 != PERSON));
}
