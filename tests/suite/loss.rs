//! Every emitted event is in the stream, or the stream says exactly that it was lost.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use telemetry::counters::Counters;

use crate::support::ledger::Ledger;
use crate::support::process::{Numbers, Outcome, Process, child};
use crate::support::stream::Counts;
use crate::support::system;
use crate::{second, work};

/// Emits events in all lanes. `emitted` counts those that were on when their emitters were called.
pub(crate) fn emit(rounds: u64, emitted: &Cell<u64>) {
    let count = |value: u64| {
        emitted.set(emitted.get() + 1);
        value
    };
    for i in 0..rounds {
        work::alloc!(count(i), i * 64, 16 + (i & 0xfff), 7);
        work::named!(
            count(i),
            i * 32,
            16u64,
            7,
            if i % 3 == 0 { "short" } else { "longer than what is copied inline" }
        );
        work::fix!(count(i), i * 64, 16u64, 7);
    }
}

/// As [`emit`], on threads that end before this returns.
fn emit_on_threads(threads: u64, rounds: u64) -> u64 {
    let threads: Vec<_> = (0..threads)
        .map(|_| {
            std::thread::spawn(move || {
                let emitted = Cell::new(0);
                emit(rounds, &emitted);
                emitted.get()
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().expect("a thread that only emits")).sum()
}

/// The counters after a flush, compared with the number of emitted events.
fn numbers(emitted: u64) -> Numbers {
    telemetry::flush();
    let counters = telemetry::counters::total();
    let Counters { written, retained, lost_pool, lost_reentrant, lost_sink, .. } = counters;
    assert_eq!(counters.emitted(), emitted, "{counters:?}");
    vec![
        ("emitted", emitted),
        ("written", written),
        ("retained", retained),
        ("pool", lost_pool),
        ("reentrant", lost_reentrant),
        ("sink", lost_sink),
    ]
}

/// The stream has each emitted event or counts it as lost, and the counters agree.
fn check(run: &Outcome) -> Counts {
    let counts = Counts::of(run.path());
    assert_eq!(counts.emitted(), run.number("emitted"), "{counts:?}\n{}", run.stdout);
    assert_eq!(counts.decoded, run.number("written"));
    assert_eq!(counts.lost.pool, run.number("pool"));
    assert_eq!(counts.lost.reentrant, run.number("reentrant"));
    assert_eq!(counts.lost.sink, run.number("sink"));
    let ledger = Ledger::of(run.path());
    let given = ledger.given - ledger.own;
    assert_eq!((ledger.covered, ledger.excluded, given), (counts.decoded, 0, counts.decoded));
    assert_eq!(ledger.emitted(), counts.emitted(), "{ledger:?}");
    counts
}

#[test]
fn four_threads_and_a_pool_far_too_small() {
    let run = child(
        "loss::four_threads_and_a_pool_far_too_small",
        |process| process.env("TELEMETRY_BUFFER", "64k"),
        || numbers(emit_on_threads(4, 50_000)),
    );
    assert!(check(&run).lost.pool > 0, "a pool that is too small loses something");
}

/// Later events replace earlier ones, which are counted. The latest are always there.
#[test]
fn the_oldest_are_overwritten() {
    /// A sink that takes nothing until it is told to, and holds up its caller.
    struct Stuck(Arc<AtomicBool>, telemetry::sinks::File);
    impl telemetry::sinks::Sink for Stuck {
        fn write(&mut self, blocks: &telemetry::sinks::Batch<'_>) -> std::io::Result<()> {
            while !self.0.load(Ordering::Relaxed) {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            self.1.write(blocks)
        }
    }
    let run = child(
        "loss::the_oldest_are_overwritten",
        |process| process.env("TELEMETRY_BUFFER", "256k").without("TELEMETRY_FILENAME"),
        || {
            let moves = Arc::new(AtomicBool::new(false));
            let sink = Stuck(moves.clone(), telemetry::sinks::File::new("stream.tel"));
            let policy = telemetry::Policy::OverwriteOldest;
            telemetry::Config::new().sink(sink).policy(policy).start().unwrap();
            let emitted = emit_on_threads(2, 100_000);
            let lost = telemetry::counters::total();
            assert!(lost.lost_sink > 100_000 && lost.lost_pool < 1_000, "{lost:?}");
            moves.store(true, Ordering::Relaxed);
            numbers(emitted)
        },
    );
    let lost = check(&run).lost;
    assert!(lost.sink > 100_000, "{lost:?}");
}

/// Threads wait for memory, and nothing is lost though the pool is far too small.
#[test]
fn threads_wait_for_memory() {
    let run = child(
        "loss::threads_wait_for_memory",
        |process| process.env("TELEMETRY_BUFFER", "64k").env("TELEMETRY_POLICY", "wait:30"),
        || numbers(emit_on_threads(3, 20_000)),
    );
    assert_eq!(check(&run).lost.events(), 0);
}

/// The wait has a limit.
#[test]
fn threads_wait_no_longer_than_they_may() {
    let run = child(
        "loss::threads_wait_no_longer_than_they_may",
        |process| process.env("TELEMETRY_BUFFER", "64k"),
        || {
            /// Takes nothing until a thread has waited in vain.
            struct Slow;
            impl telemetry::sinks::Sink for Slow {
                fn write(&mut self, _: &telemetry::sinks::Batch<'_>) -> std::io::Result<()> {
                    while telemetry::counters::total().lost_pool == 0 {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                    Ok(())
                }
            }
            let policy = telemetry::Policy::Wait(std::time::Duration::from_millis(20));
            telemetry::Config::new().policy(policy).start().unwrap();
            telemetry::sinks::add(Slow).unwrap();
            let since = std::time::Instant::now();
            emit(3_000, &Cell::new(0));
            let took = since.elapsed();
            assert!(took > std::time::Duration::from_millis(20), "{took:?}");
            assert!(telemetry::counters::total().lost_pool > 0);
            vec![]
        },
    );
    assert!(run.stderr.is_empty(), "{}", run.stderr);
}

#[test]
fn a_policy_that_is_none() {
    let run = child(
        "loss::a_policy_that_is_none",
        |process| process.env("TELEMETRY_POLICY", "waits"),
        || numbers(emit_on_threads(1, 10)),
    );
    let complaint = "telemetry: [invalid-setting] TELEMETRY_POLICY is `waits`, expected `drop`, `overwrite`, `wait` or `wait:SECONDS`";
    assert_eq!(run.stderr.trim(), complaint);
}

#[test]
fn threads_that_come_and_go() {
    let run = child(
        "loss::threads_that_come_and_go",
        |process| process.env("TELEMETRY_BUFFER", "1M"),
        || {
            let mut emitted = emit_on_threads(8, 100);
            let before = resident();
            for _ in 0..200 {
                emitted += emit_on_threads(5, 100);
            }
            let grown = resident().saturating_sub(before);
            // The memory of all those threads is free: there is room for as many lanes as there
            // ever were.
            telemetry::flush();
            let lost = telemetry::counters::total().lost_pool;
            for _ in 0..30 {
                emitted += emit_on_threads(5, 100);
                telemetry::flush();
            }
            let lost = telemetry::counters::total().lost_pool - lost;
            [numbers(emitted), vec![("grown", grown), ("lost at last", lost)]].concat()
        },
    );
    check(&run);
    assert!(run.number("grown") < 2 << 20, "{} bytes more", run.number("grown"));
    assert_eq!(run.number("lost at last"), 0);
}

/// Bytes of memory that the process uses now.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("what the kernel says of us");
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number of pages") * 4096
}

#[test]
fn several_registries_in_one_process() {
    let run = child(
        "loss::several_registries_in_one_process",
        |process| process,
        || {
            let emitted = emit_on_threads(2, 1000);
            for number in 0..5000_u64 {
                second::alloc!(number);
                second::lonely!();
            }
            numbers(emitted + 10_000)
        },
    );
    assert_eq!(check(&run).lost.events(), 0);
    let stream = run.stream();
    let lonely = stream.events.iter().filter(|event| event.name == "Lonely").count();
    // The two have the same name and different parameters.
    let alloc = stream.events.iter().filter(|event| event.name == "Alloc" && event.values.len() == 1).count();
    assert_eq!((lonely, alloc), (5000, 5000));
}

/// Several threads emit their first events while the first of them registers the registries.
#[test]
fn first_events_of_several_threads() {
    for _ in 0..5 {
        let run = child(
            "loss::first_events_of_several_threads",
            |process| process.env("TELEMETRY_CONTROL", "work second:Absent all"),
            || {
                let start = Barrier::new(4);
                std::thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| {
                            start.wait();
                            for number in 0..100_u64 {
                                work::alloc!(number, number, number, 1);
                                second::alloc!(number);
                            }
                        });
                    }
                });
                numbers(800)
            },
        );
        check(&run);
    }
}

/// Flushes meet blocks in every state: open, just sealed, on their way to the drain, freed.
#[test]
fn flush_from_other_threads() {
    // In a small pool blocks are small, and one is always full.
    for buffer in ["64k", "16M"] {
        let run = child(
            "loss::flush_from_other_threads",
            |process| process.env("TELEMETRY_LATENCY", "3600").env("TELEMETRY_BUFFER", buffer),
            || {
                let over = AtomicBool::new(false);
                let emitted = std::thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            while !over.load(Ordering::Relaxed) {
                                telemetry::flush();
                            }
                        });
                    }
                    let emitted = emit_on_threads(2, 40_000);
                    over.store(true, Ordering::Relaxed);
                    emitted
                });
                numbers(emitted)
            },
        );
        check(&run);
    }
}

#[test]
fn switched_on_and_off_while_emitting() {
    let run = child(
        "loss::switched_on_and_off_while_emitting",
        |process| process.env("TELEMETRY_BUFFER", "64M"),
        || {
            let (over, ready) = (AtomicBool::new(false), Barrier::new(3));
            let emitter = || {
                let emitted = Cell::new(0);
                // The first event of a lane may be unrecorded if it is switched off meanwhile. For
                // all others, the mask that their emitters saw counts.
                emit(1, &emitted);
                ready.wait();
                emit(100_000, &emitted);
                emitted.get()
            };
            let emitted = std::thread::scope(|scope| {
                scope.spawn(|| {
                    ready.wait();
                    while !over.load(Ordering::Relaxed) {
                        telemetry::reset("Precise work:Fix");
                        telemetry::set("Named");
                        telemetry::reset("all");
                        telemetry::set("all");
                    }
                });
                let threads = [scope.spawn(emitter), scope.spawn(emitter)];
                let emitted = threads.map(|thread| thread.join().expect("a thread that only emits"));
                over.store(true, Ordering::Relaxed);
                emitted.iter().sum()
            });
            numbers(emitted)
        },
    );
    assert!(run.number("emitted") < 600_000, "something was off at times");
    check(&run);
}

/// Nothing can be written: all events are counted, and the program continues and reports it once.
fn check_unwritable(run: &Outcome, why: &str) {
    assert_eq!(run.number("written"), 0);
    assert_eq!(run.number("sink") + run.number("pool"), run.number("emitted"), "{}", run.stdout);
    assert_eq!(run.stderr.matches("telemetry:").count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains(why), "{}", run.stderr);
}

/// On threads that end, so that no event waits in an open block.
fn emit_for_a_while() -> Numbers {
    let mut emitted = 0;
    for _ in 0..5 {
        emitted += emit_on_threads(2, 5_000);
        telemetry::flush();
    }
    numbers(emitted)
}

#[test]
fn a_full_device() {
    let run = child(
        "loss::a_full_device",
        |process| process.env("TELEMETRY_FILENAME", "/dev/full"),
        emit_for_a_while,
    );
    check_unwritable(&run, "telemetry: [sink-failed 28] cannot write `/dev/full`: No space left on device");
}

#[test]
fn a_path_that_cannot_be_made() {
    let run = child(
        "loss::a_path_that_cannot_be_made",
        |process| process.env("TELEMETRY_FILENAME", "/no/such/stream.tel"),
        emit_for_a_while,
    );
    check_unwritable(
        &run,
        "telemetry: [sink-failed 2] cannot write `/no/such/stream.tel`: No such file or directory",
    );
}

/// A sink fails for a while: blocks that are sealed meanwhile are lost and counted. The stream
/// continues, and an open block keeps its events.
fn fail_for_a_while(fail: impl Fn(), recover: impl Fn()) -> Numbers {
    work::tick!();
    let mut emitted = 3 + emit_on_threads(2, 1000);
    telemetry::flush();
    fail();
    work::tick!();
    emitted += emit_on_threads(2, 20_000);
    telemetry::flush();
    assert!(telemetry::counters::total().lost_sink > 0);
    recover();
    work::tick!();
    emitted += emit_on_threads(2, 1000);
    numbers(emitted)
}

fn check_recovered(run: &Outcome) {
    check(run);
    assert_eq!(run.stream().by_name()["Tick"], 3);
    assert_eq!(run.stderr.matches("telemetry: [sink-failed").count(), 1, "{}", run.stderr);
}

#[test]
fn a_file_that_may_not_grow_for_a_while() {
    let run = child(
        "loss::a_file_that_may_not_grow_for_a_while",
        // The drain makes no sweep by itself, so the flush is the first to meet the failure.
        |process| process.env("TELEMETRY_LATENCY", "3600"),
        || {
            let len = || std::fs::metadata(telemetry::sinks::output()).expect("a stream").len();
            system::ignore_file_size_signal();
            // In the middle of a block, so that half of it is written.
            fail_for_a_while(|| system::limit_file_size(len() + 10_000), || system::limit_file_size(u64::MAX))
        },
    );
    check_recovered(&run);
}

#[test]
fn a_disk_that_is_full_for_a_while() {
    let run = child(
        "loss::a_disk_that_is_full_for_a_while",
        |process| {
            let disk = process.dir().join("disk");
            process.env("TELEMETRY_FILENAME", disk.join("stream.tel")).env("TELEMETRY_LATENCY", "3600")
        },
        || {
            let disk = Path::new("disk");
            if let Err(error) = system::mount_small_disk(disk, 512 << 10) {
                eprintln!("SKIPPED: cannot mount a small disk: {error}");
                return vec![];
            }
            let filler = disk.join("filler");
            let fill = || {
                let full = std::fs::write(&filler, vec![0; 1 << 20]).expect_err("a disk that is too small");
                assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
            };
            let numbers = fail_for_a_while(fill, || std::fs::remove_file(&filler).expect("a file to remove"));
            // The disk ends with the process.
            std::fs::copy(telemetry::sinks::output(), "stream.tel").expect("a copy of the stream");
            numbers
        },
    );
    if run.stderr.contains("SKIPPED") {
        eprint!("{}", run.stderr);
        return;
    }
    check_recovered(&run);
}

#[test]
fn the_complaint_has_no_reader() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let writer = std::cell::Cell::new(Some(writer));
    let run = child(
        "loss::the_complaint_has_no_reader",
        |process| {
            let process = process.env("TELEMETRY_FILENAME", "/no/such/stream.tel");
            writer.take().into_iter().fold(process, Process::stderr)
        },
        emit_for_a_while,
    );
    assert_eq!(run.number("sink"), run.number("emitted"));
}

/// Without memory for blocks all events are lost, and the stream says how many.
#[test]
fn no_memory_for_a_pool() {
    let run = child(
        "loss::no_memory_for_a_pool",
        |process| process,
        || {
            // The memory that the drain needs later is already allocated.
            drop(vec![1_u8; 1 << 20]);
            system::limit_memory(32 << 10);
            for number in 0..1000_u64 {
                work::alloc!(number, number, number, 1);
            }
            numbers(1000)
        },
    );
    assert_eq!(check(&run).lost.pool, 1000);
}
