//! Counters: what threads, signal handlers and forks count is what the samples say.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telemetry::sinks::Memory;

use crate::counted;
use crate::support::process::{Numbers, Outcome, Process, child};
use crate::support::stream::{Event, Owned, Stream};
use crate::support::system::{self, Alarm};

/// Runs a process that counts, without a sample between those that something causes.
fn counting(test: &str, setup: impl Fn(Process) -> Process, body: impl Fn() -> Numbers) -> Outcome {
    child(test, |process| setup(process.env("TELEMETRY_SAMPLE", "off")), body)
}

/// The last values of the samples of an event.
fn samples(stream: &Stream, name: &str) -> Vec<i128> {
    stream.events.iter().filter(|event| event.name == name).map(last).collect()
}

fn last(event: &Event) -> i128 {
    match event.values.last() {
        Some(Owned::Number(value)) => *value,
        other => panic!("{} ends with {other:?}", event.name),
    }
}

#[test]
fn the_sum_of_all_threads() {
    let run = counting(
        "counters::the_sum_of_all_threads",
        |process| process,
        || {
            // Several rounds, so that threads take over what others have left.
            for _ in 0..4 {
                std::thread::scope(|scope| {
                    for thread in 1..=8_u64 {
                        scope.spawn(move || {
                            for _ in 0..10_000 {
                                counted::CACHE_HITS.add(thread);
                                counted::CACHE_BYTES.add(3);
                                counted::CACHE_BYTES.sub(1);
                            }
                        });
                    }
                });
            }
            vec![
                ("hits", counted::CACHE_HITS.value()),
                ("bytes", u64::try_from(counted::CACHE_BYTES.value()).expect("a sum above 0")),
            ]
        },
    );
    assert_eq!([run.number("hits"), run.number("bytes")], [4 * 36 * 10_000, 4 * 8 * 20_000]);
    let stream = run.stream();
    assert_eq!(samples(&stream, "CacheHits"), [4 * 36 * 10_000], "one sample, at the end");
    assert_eq!(samples(&stream, "CacheBytes"), [4 * 8 * 20_000]);
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
}

#[test]
fn each_thread_has_its_own() {
    let run = child(
        "counters::each_thread_has_its_own",
        // Only the end samples, but the ends of threads are kept until then.
        |process| process.env("TELEMETRY_SAMPLE", "3600"),
        || {
            counted::THREAD_HITS.add(1000);
            for thread in 1..=3_u64 {
                let thread = std::thread::spawn(move || {
                    counted::THREAD_HITS.add(thread);
                    counted::THREAD_DEPTH.set(40);
                    counted::THREAD_DEPTH.sub(50);
                    assert_eq!(counted::THREAD_HITS.value(), thread, "cells that are taken over begin at 0");
                    assert_eq!(counted::THREAD_DEPTH.value(), -10);
                });
                thread.join().expect("a thread that counts");
            }
            // The end samples what is on now, so the threads are seen once.
            vec![("own", counted::THREAD_HITS.value())]
        },
    );
    assert_eq!(run.number("own"), 1000);
    let stream = run.stream();
    let mut hits = samples(&stream, "ThreadHits");
    hits.sort_unstable();
    assert_eq!(hits, [1, 2, 3, 1000]);
    let mut depths = samples(&stream, "ThreadDepth");
    depths.sort_unstable();
    assert_eq!(depths, [-10, -10, -10, 0]);
    let threads = stream.events.iter().filter(|event| event.name == "ThreadHits");
    let threads: std::collections::BTreeSet<_> =
        threads.map(|event| format!("{:?}", event.values[0])).collect();
    assert_eq!(threads.len(), 4, "{threads:?}");
}

#[test]
fn a_gauge_that_is_only_set_is_sampled() {
    let run = counting(
        "counters::a_gauge_that_is_only_set_is_sampled",
        |process| process,
        || {
            counted::CACHE_BYTES.set(1 << 40);
            std::thread::spawn(|| counted::CACHE_BYTES.set(-5)).join().expect("a thread that sets");
            assert_eq!(counted::CACHE_BYTES.value(), -5);
            Numbers::new()
        },
    );
    assert_eq!(samples(&run.stream(), "CacheBytes"), [-5]);
}

#[test]
fn sums_wrap_around() {
    counting(
        "counters::sums_wrap_around",
        |process| process,
        || {
            counted::CACHE_HITS.add(u64::MAX);
            std::thread::spawn(|| counted::CACHE_HITS.add(3)).join().expect("a thread that counts");
            assert_eq!(counted::CACHE_HITS.value(), 2);
            counted::CACHE_BYTES.set(i64::MAX);
            counted::CACHE_BYTES.add(1);
            assert_eq!(counted::CACHE_BYTES.value(), i64::MIN);
            counted::CACHE_BYTES.sub(i64::MIN);
            assert_eq!(counted::CACHE_BYTES.value(), 0);
            Numbers::new()
        },
    );
}

#[test]
fn switches_have_samples_on_both_sides() {
    let run = counting(
        "counters::switches_have_samples_on_both_sides",
        |process| process.env("TELEMETRY_CONTROL", "Tick"),
        || {
            counted::ticked!();
            for round in 1..=2 {
                counted::CACHE_HITS.add(round);
                telemetry::set("CacheHits");
                counted::CACHE_HITS.add(10);
                telemetry::reset("CacheHits");
                // Counted, though nothing is on.
                counted::CACHE_HITS.add(100);
            }
            vec![("hits", counted::CACHE_HITS.value())]
        },
    );
    assert_eq!(run.number("hits"), 223);
    assert_eq!(samples(&run.stream(), "CacheHits"), [1, 11, 113, 123]);
}

#[test]
fn counters_that_are_on_for_a_time() {
    let run = counting(
        "counters::counters_that_are_on_for_a_time",
        |process| process.env("TELEMETRY_CONTROL", "Tick"),
        || {
            counted::ticked!();
            counted::CACHE_HITS.add(1);
            telemetry::control::set_for("CacheHits", Duration::from_millis(30));
            counted::CACHE_HITS.add(10);
            let since = Instant::now();
            while !telemetry::control::enabled().contains("Tick")
                || telemetry::control::enabled().contains("Hits")
            {
                std::thread::sleep(Duration::from_millis(1));
                assert!(since.elapsed() < Duration::from_secs(50), "{}", telemetry::control::enabled());
            }
            counted::CACHE_HITS.add(100);
            Numbers::new()
        },
    );
    assert_eq!(samples(&run.stream(), "CacheHits"), [1, 11]);
}

#[test]
fn a_snapshot_has_the_latest_values() {
    let run = counting(
        "counters::a_snapshot_has_the_latest_values",
        |process| process,
        || {
            for number in 1..=3 {
                counted::CACHE_HITS.add(number);
                telemetry::recorder::snapshot(format!("{number}.tel")).expect("a snapshot");
            }
            Numbers::new()
        },
    );
    let last = |file: &str| samples(&Stream::read(run.dir().join(file)), "CacheHits").pop();
    assert_eq!([last("1.tel"), last("2.tel"), last("3.tel")], [Some(1), Some(3), Some(6)]);
}

#[test]
fn samples_come_at_intervals() {
    child(
        "counters::samples_come_at_intervals",
        |process| process.env("TELEMETRY_SAMPLE", "0.002").env("TELEMETRY_LATENCY", "0.002"),
        || {
            let memory = Memory::new(1 << 24);
            telemetry::sinks::add(memory.clone()).expect("the runtime runs");
            let since = Instant::now();
            let mut found = Vec::new();
            while found.len() < 5 {
                counted::CACHE_HITS.add(1);
                std::thread::sleep(Duration::from_millis(1));
                let path = std::path::Path::new("so-far.tel");
                std::fs::write(path, memory.to_vec()).expect("a file");
                found = match memory.to_vec().is_empty() {
                    true => Vec::new(),
                    false => samples(&Stream::read_what_is_left(path), "CacheHits"),
                };
                assert!(since.elapsed() < Duration::from_secs(50), "only {found:?}");
            }
            assert!(found.is_sorted(), "{found:?}");
            Numbers::new()
        },
    );
}

/// What the handler of the next test has counted.
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_in_handler(_: std::ffi::c_int) {
    counted::CACHE_HITS.add(1 << 32);
    counted::CACHE_BYTES.set(7);
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn signal_handlers_count_whatever_they_interrupt() {
    let run = counting(
        "counters::signal_handlers_count_whatever_they_interrupt",
        |process| process,
        || {
            system::on_signal(libc::SIGALRM, count_in_handler);
            let alarm = Alarm::every(Duration::from_micros(50));
            let since = Instant::now();
            let mut counted = 0_u64;
            while HANDLED.load(Ordering::Relaxed) < 2_000 {
                counted::CACHE_HITS.add(1);
                counted += 1;
                // Threads whose first action is interrupted, too.
                if counted.is_multiple_of(100_000) {
                    std::thread::spawn(|| counted::CACHE_HITS.add(1)).join().expect("a thread that counts");
                    counted += 1;
                }
                assert!(since.elapsed() < Duration::from_secs(50), "signals are too rare");
            }
            drop(alarm);
            let handled = HANDLED.load(Ordering::Relaxed);
            vec![("hits", counted::CACHE_HITS.value()), ("expected", counted + (handled << 32))]
        },
    );
    assert_eq!(run.number("hits"), run.number("expected"));
    assert_eq!(samples(&run.stream(), "CacheHits"), [i128::from(run.number("hits"))]);
}

#[test]
fn a_child_goes_on_counting() {
    let run = counting(
        "counters::a_child_goes_on_counting",
        |process| process,
        || {
            counted::CACHE_HITS.add(10);
            counted::CACHE_BYTES.set(100);
            counted::THREAD_HITS.add(1);
            let (inside, done) = (Barrier::new(2), Barrier::new(2));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    counted::CACHE_HITS.add(5);
                    counted::CACHE_BYTES.add(20);
                    inside.wait();
                    done.wait();
                });
                inside.wait();
                let status = system::fork(|| {
                    counted::CACHE_HITS.add(1);
                    counted::THREAD_HITS.add(2);
                    assert_eq!(counted::CACHE_HITS.value(), 16);
                    assert_eq!(counted::CACHE_BYTES.value(), 120, "the child has the same memory");
                    assert_eq!(counted::THREAD_HITS.value(), 2, "its thread is new");
                    std::thread::spawn(|| counted::CACHE_HITS.add(1)).join().expect("a thread that counts");
                });
                assert!(status.success(), "{status}");
                done.wait();
            });
            vec![("hits", counted::CACHE_HITS.value())]
        },
    );
    assert_eq!(run.number("hits"), 15, "the parent does not see what the child counts");
    assert_eq!(samples(&run.stream(), "CacheHits"), [15]);
    let child = Stream::read(run.path_of_child());
    assert_eq!(samples(&child, "CacheHits"), [17]);
    assert_eq!(samples(&child, "CacheBytes"), [120]);
}

#[test]
fn forks_while_others_count() {
    counting(
        "counters::forks_while_others_count",
        |process| process,
        || {
            let over = AtomicU64::new(0);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while over.load(Ordering::Relaxed) == 0 {
                        std::thread::spawn(|| counted::CACHE_HITS.add(1))
                            .join()
                            .expect("a thread that counts");
                    }
                });
                scope.spawn(|| {
                    while over.load(Ordering::Relaxed) == 0 {
                        telemetry::set("CacheHits");
                    }
                });
                for _ in 0..20 {
                    let status = system::fork(|| {
                        let before = counted::CACHE_HITS.value();
                        counted::CACHE_HITS.add(1);
                        assert_eq!(counted::CACHE_HITS.value(), before + 1);
                    });
                    assert!(status.success(), "{status}");
                }
                over.store(1, Ordering::Relaxed);
            });
            Numbers::new()
        },
    );
}

/// Counts when the thread ends, after the runtime has heard of the end.
struct CountsLate;

impl Drop for CountsLate {
    fn drop(&mut self) {
        counted::CACHE_HITS.add(1);
    }
}

#[test]
fn destructors_of_thread_locals_count() {
    thread_local! {
        static LATE: CountsLate = const { CountsLate };
    }
    let run = counting(
        "counters::destructors_of_thread_locals_count",
        |process| process,
        || {
            for _ in 0..100 {
                let thread = std::thread::spawn(|| {
                    LATE.with(|_| counted::CACHE_HITS.add(1));
                });
                thread.join().expect("a thread that counts");
            }
            vec![("hits", counted::CACHE_HITS.value())]
        },
    );
    assert_eq!(run.number("hits"), 200);
}

#[test]
fn the_process_is_sampled_if_it_is_named() {
    for (control, named) in [("all", false), ("all telemetry:Process", true), ("all telemetry:Usage", true)] {
        let run = counting(
            "counters::the_process_is_sampled_if_it_is_named",
            |process| process.env("TELEMETRY_CONTROL", control),
            || {
                counted::ticked!();
                let mut memory = vec![0_u8; 32 << 20];
                memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
                telemetry::recorder::snapshot("now.tel").expect("a snapshot");
                vec![("touched", memory.len() as u64)]
            },
        );
        let stream = Stream::read(run.dir().join("now.tel"));
        let found: Vec<_> = stream.own.iter().filter(|event| event.name == "Process").collect();
        assert_eq!(found.len(), usize::from(named), "{control}");
        for event in found {
            let number = |at: usize| match event.values[at] {
                Owned::Number(number) => number,
                _ => panic!("{event:?}"),
            };
            assert!(number(0) > i128::from(run.number("touched")), "resident: {event:?}");
            assert!(number(1) + number(2) > 0, "processor time: {event:?}");
            assert!(number(3) >= 32 << 8, "page faults: {event:?}");
            assert!((4096..16 << 20).contains(&number(7)), "the pool: {event:?}");
            assert_eq!(number(8), 0, "nothing is lost: {event:?}");
        }
    }
}
