//! A forked child has the parent's memory, and must not write what is the parent's to write.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::process::{Process, child};
use crate::support::system;
use crate::{second, work};

/// What a child does with the runtime, all in vain: nobody would take what it records.
fn try_everything() {
    let mut evaluated = 0;
    telemetry::set("all");
    for _ in 0..1000 {
        work::alloc!(
            {
                evaluated += 1;
                0_u64
            },
            0_u64,
            0_u64,
            0
        );
    }
    assert_eq!(evaluated, 0, "off in a child");
    assert_eq!(telemetry::get(), "");
    telemetry::flush();
    let panic = std::thread::spawn(|| {
        work::tick!();
        panic!("in the child");
    });
    panic.join().expect_err("a panic");
}

/// Forks while other threads emit, flush and switch, so that any lock may be held just then.
#[test]
fn children_leave_the_stream_alone() {
    let run = child(
        "fork::children_leave_the_stream_alone",
        |process| process.env("TELEMETRY_BUFFER", "64M"),
        || {
            work::tick!();
            // The drain's thread sets a panic hook when it begins. A child forked at that very moment
            // inherits the standard library's lock of the hook, held by nobody, and could not panic.
            std::thread::sleep(Duration::from_millis(100));
            let (over, emitted) = (AtomicBool::new(false), AtomicU64::new(1));
            let repeat = |f: &(dyn Fn() + Sync)| {
                while !over.load(Ordering::Relaxed) {
                    f();
                }
            };
            let mut slowest = Duration::ZERO;
            std::thread::scope(|scope| {
                scope.spawn(|| repeat(&telemetry::flush));
                scope.spawn(|| repeat(&|| telemetry::set("all")));
                scope.spawn(|| {
                    repeat(&|| {
                        let number = emitted.fetch_add(1, Ordering::Relaxed);
                        work::alloc!(number, number, number, 0);
                        std::thread::sleep(Duration::from_micros(20));
                    })
                });
                for _ in 0..30 {
                    let since = Instant::now();
                    let status = system::fork(try_everything);
                    slowest = slowest.max(since.elapsed());
                    assert!(status.success(), "{status}");
                    work::tick!();
                    emitted.fetch_add(1, Ordering::Relaxed);
                }
                over.store(true, Ordering::Relaxed);
            });
            assert!(slowest < Duration::from_secs(5), "a child waited {slowest:?}");
            vec![("emitted", emitted.load(Ordering::Relaxed))]
        },
    );
    let stream = run.stream();
    assert_eq!(stream.events.len() as u64, run.number("emitted"));
    assert_eq!(stream.by_name()["Tick"], 31);
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
}

/// Forks before the parent has any event.
#[test]
fn a_child_of_a_parent_without_events() {
    let run = child(
        "fork::a_child_of_a_parent_without_events",
        |process: Process| process,
        || {
            let status = system::fork(|| {
                second::lonely!();
                telemetry::flush();
            });
            assert!(status.success(), "{status}");
            vec![]
        },
    );
    // The runtime had not begun: to it the child is a process like any other.
    assert_eq!(run.stream().events.len(), 1);
}
