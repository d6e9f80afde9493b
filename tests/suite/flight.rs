//! The flight recorder: what is recorded and not output stays in memory, the latest of it, and of rare kinds
//! longer than of frequent ones.

use std::path::Path;
use std::sync::mpsc;

use telemetry::Counters;

use crate::support::ledger::Ledger;
use crate::support::process::{Numbers, Process, child};
use crate::support::stream::{Owned, Stream};
use crate::work;

/// Records `count` events of a frequent kind, each with its number.
fn frequent(count: u64) {
    for number in 0..count {
        work::alloc!(number, number, number, 7);
    }
}

/// Nothing is lost, and what was emitted is written, held or given up.
fn numbers(emitted: u64) -> Numbers {
    let counters = telemetry::counters();
    assert_eq!(counters.emitted(), emitted, "{counters:?}");
    assert_eq!(counters.lost(), 0, "{counters:?}");
    let Counters { written, held, recycled, .. } = counters;
    vec![("written", written), ("held", held), ("recycled", recycled)]
}

/// Everything recorded, nothing output, in a small pool.
fn recorded(process: Process) -> Process {
    process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all").env("TELEMETRY_BUFFER", "1M")
}

/// The numbers of a stream's frequent events, which must be without a gap.
fn allocs(stream: &Stream) -> std::ops::Range<i128> {
    let numbers: Vec<i128> = stream.events.iter().filter(|event| event.name == "Alloc").map(first).collect();
    let (Some(&start), Some(&last)) = (numbers.first(), numbers.last()) else { return 0..0 };
    assert!(numbers.iter().copied().eq(start..=last), "a gap in {start}..={last}");
    start..last + 1
}

fn first(event: &crate::support::stream::Event) -> i128 {
    match event.values.first() {
        Some(Owned::Number(number)) => *number,
        other => panic!("{other:?} is no number"),
    }
}

#[test]
fn the_latest_is_kept_and_the_rare_longer() {
    let run = child("flight::the_latest_is_kept_and_the_rare_longer", recorded, || {
        work::tick!();
        frequent(500_000);
        telemetry::snapshot("one.tel").expect("a snapshot");
        frequent(10);
        telemetry::snapshot("two.tel").expect("another");
        numbers(500_011)
    });
    assert!(!run.path().exists(), "nothing is output");
    assert_eq!(run.number("written"), 0);
    assert!(run.number("recycled") > 100_000 && run.number("held") > 10_000, "{}", run.stdout);
    let [one, two] = ["one.tel", "two.tel"].map(|name| Stream::read(run.dir().join(name)));
    assert_eq!(one.by_name()["Tick"], 1, "the rare kind outlives the frequent one");
    let kept = allocs(&one);
    assert_eq!(kept.end, 500_000, "up to the last event");
    assert!(kept.start > 0, "the first ones are given up");
    // What was given up is no loss, and not missing: it was not to be output.
    assert_eq!(one.completeness.lost().events(), 0);
    let last = two.events.iter().rev().filter(|event| event.name == "Alloc").map(first).take(11);
    assert_eq!(last.collect::<Vec<_>>(), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 499_999]);
}

/// A sink that has events emitted, and waits for them, once it has taken half of the pool.
struct Slow {
    taken: usize,
    emit: mpsc::SyncSender<()>,
    emitted: mpsc::Receiver<()>,
}

impl telemetry::Sink for Slow {
    fn write(&mut self, blocks: &telemetry::Blocks<'_>) -> std::io::Result<()> {
        self.taken += blocks.bytes();
        if self.taken > 600 << 10 {
            self.emit.send(()).expect("a thread that emits");
            self.emitted.recv().expect("a thread that emits");
        }
        Ok(())
    }
}

/// What a snapshot has written it holds no longer: while it takes its time, later events have that memory.
#[test]
fn a_slow_snapshot_costs_no_events() {
    child("flight::a_slow_snapshot_costs_no_events", recorded, || {
        frequent(500_000);
        let (emit, wanted) = mpsc::sync_channel(1);
        let (done, emitted) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while wanted.recv().is_ok() {
                    frequent(10_000);
                    done.send(()).expect("a snapshot that waits");
                }
            });
            telemetry::snapshot_to(Slow { taken: 0, emit, emitted }).expect("a snapshot");
        });
        let counters = telemetry::counters();
        assert!(counters.emitted() > 500_000, "the snapshot was too small: {counters:?}");
        assert_eq!(counters.lost(), 0, "{counters:?}");
        vec![]
    });
}

/// Several threads overwrite the flight recorder's memory as fast as they can, while snapshots are taken.
#[test]
fn snapshots_of_busy_threads() {
    let run = child("flight::snapshots_of_busy_threads", recorded, || {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| frequent(300_000));
            }
            for number in 0..10 {
                telemetry::snapshot(format!("{number}.tel")).expect("a snapshot");
            }
        });
        let counters = telemetry::counters();
        assert_eq!(counters.emitted(), 900_000, "{counters:?}");
        vec![]
    });
    for number in 0..10 {
        let path = run.dir().join(format!("{number}.tel"));
        Ledger::of(&path);
        let stream = Stream::read(path);
        for thread in
            stream.events.iter().map(|event| event.thread).collect::<std::collections::BTreeSet<_>>()
        {
            let numbers: Vec<_> =
                stream.events.iter().filter(|event| event.thread == thread).map(first).collect();
            assert!(numbers.windows(2).all(|two| two[1] == two[0] + 1), "a gap in thread {thread}");
        }
    }
}

/// A kind that is switched on goes out from then on, with the block that was open; what was recorded before
/// that is no loss.
#[test]
fn a_kind_is_output_for_a_while() {
    let run = child("flight::a_kind_is_output_for_a_while", recorded, || {
        frequent(100_000);
        telemetry::set("Alloc");
        frequent(1_000);
        telemetry::reset("Alloc");
        telemetry::flush();
        // The kind is output for some milliseconds still.
        std::thread::sleep(std::time::Duration::from_millis(100));
        frequent(200_000);
        numbers(301_000)
    });
    let stream = run.stream();
    let allocs: Vec<_> = stream.events.iter().filter(|event| event.name == "Alloc").map(first).collect();
    let start = allocs.windows(1_000).position(|some| some.iter().copied().eq(0..1_000));
    assert!(start.is_some(), "all that was emitted while the kind was on");
    assert!(allocs.len() < 250_000, "not all of the rest: {}", allocs.len());
    assert_eq!(stream.completeness.lost().events(), 0);
    assert_eq!(run.number("written"), allocs.len() as u64);
}

/// What the runtime has to say is in a snapshot, too, though it begins no stream of a sink.
#[test]
fn changes_of_control_are_in_snapshots() {
    let run = child("flight::changes_of_control_are_in_snapshots", recorded, || {
        telemetry::set_record("Other");
        frequent(10);
        telemetry::snapshot("one.tel").expect("a snapshot");
        numbers(10)
    });
    assert!(!run.path().exists(), "nothing is output");
    let stream = Stream::read(run.dir().join("one.tel"));
    assert_eq!((stream.own.len(), stream.events.len()), (1, 10));
    assert_eq!(stream.own[0].name, "ControlChange");
}

/// The masks of record and output are apart.
#[test]
fn recorded_or_output() {
    child(
        "flight::recorded_or_output",
        |process| process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "Alloc"),
        || {
            work::tick!();
            let check = |output: &str, record: &str| {
                assert_eq!((telemetry::get().as_str(), telemetry::get_record().as_str()), (output, record));
            };
            check("", "work:Alloc");
            telemetry::set_record("Other");
            telemetry::set("Inherit");
            check("work:Inherit", "work:Alloc work:Other");
            telemetry::reset("all");
            check("", "work:Alloc work:Other");
            let mut evaluated = 0_u64;
            let mut count = || {
                evaluated += 1;
                evaluated
            };
            work::alloc!(count(), 0_u64, 0_u64, 0);
            work::fix!(count(), 0_u64, 0_u64, 0);
            telemetry::reset_record("all");
            check("", "");
            work::alloc!(count(), 0_u64, 0_u64, 0);
            assert_eq!(evaluated, 1, "what is neither recorded nor output is off");
            vec![]
        },
    );
}

#[test]
fn a_snapshot_that_cannot_be_written() {
    child("flight::a_snapshot_that_cannot_be_written", recorded, || {
        frequent(10);
        for path in ["/no/such/snapshot.tel", "/dev/full"] {
            telemetry::snapshot(Path::new(path)).expect_err(path);
        }
        telemetry::snapshot("after.tel").expect("a snapshot");
        numbers(10)
    });
}

/// A panic hook of the program takes a snapshot.
#[test]
fn a_snapshot_in_a_panic() {
    let run = child("flight::a_snapshot_in_a_panic", recorded, || {
        std::panic::set_hook(Box::new(|_| telemetry::snapshot("panic.tel").expect("a snapshot")));
        let panics = std::thread::spawn(|| {
            frequent(1_000);
            panic!("as is meant");
        });
        panics.join().expect_err("a panic");
        numbers(1_000)
    });
    let stream = Stream::read(run.dir().join("panic.tel"));
    assert_eq!(allocs(&stream), 0..1_000);
}
