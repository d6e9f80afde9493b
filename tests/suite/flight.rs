//! The flight recorder: the latest events that are recorded and not output stay in memory, those of
//! rare kinds longer than those of frequent ones.

use std::path::Path;
use std::sync::mpsc;

use telemetry::counters::Counters;

use crate::support::ledger::Ledger;
use crate::support::process::{Numbers, Process, child};
use crate::support::stream::{Owned, Stream};
use crate::work;

/// Records `count` numbered events of a frequent kind.
fn frequent(count: u64) {
    for number in 0..count {
        work::alloc!(number, number, number, 7);
    }
}

/// Nothing is lost: each emitted event is written, retained or evicted.
fn numbers(emitted: u64) -> Numbers {
    let counters = telemetry::counters::total();
    assert_eq!(counters.emitted(), emitted, "{counters:?}");
    assert_eq!(counters.lost(), 0, "{counters:?}");
    let Counters { written, retained, evicted, .. } = counters;
    vec![("written", written), ("retained", retained), ("evicted", evicted)]
}

/// Everything is recorded and nothing is output, in a small pool.
fn recorded(process: Process) -> Process {
    process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "all").env("TELEMETRY_BUFFER", "1M")
}

/// The numbers of a stream's frequent events, which must have no gap.
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
        telemetry::recorder::snapshot("one.tel").expect("a snapshot");
        frequent(10);
        telemetry::recorder::snapshot("two.tel").expect("another");
        numbers(500_011)
    });
    assert!(!run.path().exists(), "nothing is output");
    assert_eq!(run.number("written"), 0);
    assert!(run.number("evicted") > 100_000 && run.number("retained") > 10_000, "{}", run.stdout);
    let [one, two] = ["one.tel", "two.tel"].map(|name| Stream::read(run.dir().join(name)));
    assert_eq!(one.by_name()["Tick"], 1, "the rare kind outlives the frequent one");
    let kept = allocs(&one);
    assert_eq!(kept.end, 500_000, "up to the last event");
    assert!(kept.start > 0, "the first ones are given up");
    // Evicted events are neither lost nor missing: they were not to be output.
    assert_eq!(one.completeness.lost().events(), 0);
    let last = two.events.iter().rev().filter(|event| event.name == "Alloc").map(first).take(11);
    assert_eq!(last.collect::<Vec<_>>(), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 499_999]);
}

/// A sink that emits events and waits for them, once it has taken half of the pool.
struct Slow {
    taken: usize,
    emit: mpsc::SyncSender<()>,
    emitted: mpsc::Receiver<()>,
}

impl telemetry::sinks::Sink for Slow {
    fn write(&mut self, blocks: &telemetry::sinks::Batch<'_>) -> std::io::Result<()> {
        self.taken += blocks.byte_len();
        if self.taken > 600 << 10 {
            self.emit.send(()).expect("a thread that emits");
            self.emitted.recv().expect("a thread that emits");
        }
        Ok(())
    }
}

/// A snapshot releases what it has written: while it is slow, later events get that memory.
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
            telemetry::recorder::snapshot_to(Slow { taken: 0, emit, emitted }).expect("a snapshot");
        });
        let counters = telemetry::counters::total();
        assert!(counters.emitted() > 500_000, "the snapshot was too small: {counters:?}");
        assert_eq!(counters.lost(), 0, "{counters:?}");
        vec![]
    });
}

/// Several threads overwrite the flight recorder's memory as fast as they can, during snapshots.
#[test]
fn snapshots_of_busy_threads() {
    let run = child("flight::snapshots_of_busy_threads", recorded, || {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| frequent(300_000));
            }
            for number in 0..10 {
                telemetry::recorder::snapshot(format!("{number}.tel")).expect("a snapshot");
            }
        });
        let counters = telemetry::counters::total();
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

/// A kind that is switched on is output from then on, starting with the open block. Events that
/// were recorded before are not lost.
#[test]
fn a_kind_is_output_for_a_while() {
    let run = child("flight::a_kind_is_output_for_a_while", recorded, || {
        frequent(100_000);
        telemetry::set("Alloc");
        frequent(1_000);
        telemetry::reset("Alloc");
        telemetry::flush();
        // The kind is still output for some milliseconds.
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

/// A snapshot includes the runtime's own events, although they do not start a sink's stream.
#[test]
fn changes_of_control_are_in_snapshots() {
    let run = child("flight::changes_of_control_are_in_snapshots", recorded, || {
        telemetry::recorder::set("Other");
        frequent(10);
        telemetry::recorder::snapshot("one.tel").expect("a snapshot");
        numbers(10)
    });
    assert!(!run.path().exists(), "nothing is output");
    let stream = Stream::read(run.dir().join("one.tel"));
    assert_eq!((stream.own.len(), stream.events.len()), (1, 10));
    assert_eq!(stream.own[0].name, "ControlChange");
}

/// The masks for recording and output are independent.
#[test]
fn recorded_or_output() {
    child(
        "flight::recorded_or_output",
        |process| process.without("TELEMETRY_CONTROL").env("TELEMETRY_RECORD", "Alloc"),
        || {
            work::tick!();
            let check = |output: &str, record: &str| {
                assert_eq!(
                    (telemetry::control::enabled().as_str(), telemetry::recorder::enabled().as_str()),
                    (output, record)
                );
            };
            check("", "work:Alloc");
            telemetry::recorder::set("Other");
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
            telemetry::recorder::reset("all");
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
            telemetry::recorder::snapshot(Path::new(path)).expect_err(path);
        }
        telemetry::recorder::snapshot("after.tel").expect("a snapshot");
        numbers(10)
    });
}

/// A panic hook of the program takes a snapshot.
#[test]
fn a_snapshot_in_a_panic() {
    let run = child("flight::a_snapshot_in_a_panic", recorded, || {
        std::panic::set_hook(Box::new(|_| telemetry::recorder::snapshot("panic.tel").expect("a snapshot")));
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
