//! Quiet threads hold no memory that others need, however many there are.

use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Duration;

use crate::kinds;
use crate::support::process::{Numbers, Process, child};
use crate::support::system;

/// A number of threads, and their actions.
#[derive(Clone, Copy)]
struct Crowd {
    threads: u32,
    /// The kinds in which each thread emits.
    kinds: u32,
    /// Events of each thread and kind.
    events: u64,
    /// Events afterwards, by one more thread.
    later: u64,
}

fn emit(kind: u32, thread: u32, number: u64) {
    match kind {
        0 => kinds::e0!(thread, number),
        1 => kinds::e1!(thread, number),
        2 => kinds::e2!(thread, number),
        3 => kinds::e3!(thread, number),
        4 => kinds::e4!(thread, number),
        5 => kinds::e5!(thread, number),
        6 => kinds::e6!(thread, number),
        7 => kinds::e7!(thread, number),
        _ => kinds::e8!(thread, number),
    }
}

/// Threads that emit one after the other as fast as they can, and then wait; and one more that
/// emits slowly meanwhile.
fn crowd(Crowd { threads, kinds, events, later }: Crowd) -> Numbers {
    let (turn, is_over) = (Mutex::new(()), Barrier::new(threads as usize + 1));
    let all_emitted = Barrier::new(threads as usize + 1);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (turn, all_emitted, is_over) = (&turn, &all_emitted, &is_over);
            let body = move || {
                let held = turn.lock().unwrap_or_else(PoisonError::into_inner);
                for kind in 0..kinds {
                    (0..events).for_each(|number| emit(kind, thread, number));
                    // This test is about quiet threads, not about the speed of a sink.
                    telemetry::flush();
                }
                drop(held);
                all_emitted.wait();
                is_over.wait();
            };
            std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, body).expect("a thread");
        }
        all_emitted.wait();
        let before = telemetry::counters::total();
        for number in 0..later {
            emit(0, threads, number);
            if number % 256 == 0 {
                std::thread::sleep(Duration::from_micros(500));
            }
        }
        let lost = telemetry::counters::total().lost() - before.lost();
        is_over.wait();
        let emitted = u64::from(threads) * u64::from(kinds) * events + later;
        vec![("lost", lost), ("before", before.lost()), ("emitted", emitted)]
    })
}

/// Runs the threads with a file as the sink and with the flight recorder. None of the later events
/// is lost.
fn check(test: &str, buffer: &str, of: Crowd) {
    for mask in ["TELEMETRY_CONTROL", "TELEMETRY_RECORD"] {
        let setup = |process: Process| {
            let process =
                process.without("TELEMETRY_CONTROL").env(mask, "all").env("TELEMETRY_BUFFER", buffer);
            process.env("TELEMETRY_LATENCY", "0.1")
        };
        let run = child(test, setup, || crowd(of));
        assert_eq!((run.number("lost"), run.number("before")), (0, 0), "{mask}, a pool of {buffer}");
        if mask == "TELEMETRY_CONTROL" {
            let stream = run.stream();
            assert_eq!(stream.events.len() as u64, run.number("emitted"));
            assert!(stream.completeness.is_complete());
        }
    }
}

#[test]
fn four_hundred_threads() {
    let crowd = Crowd { threads: 400, kinds: 1, events: 4000, later: 100_000 };
    check("idle::four_hundred_threads", "16M", crowd);
}

#[test]
fn two_thousand_threads_and_a_small_pool() {
    let crowd = Crowd { threads: 2000, kinds: 1, events: 200, later: 50_000 };
    check("idle::two_thousand_threads_and_a_small_pool", "1M", crowd);
}

#[test]
fn many_lanes_and_a_pool_of_512_kilobytes() {
    let crowd = Crowd { threads: 64, kinds: 7, events: 500, later: 50_000 };
    check("idle::many_lanes_and_a_pool_of_512_kilobytes", "512k", crowd);
}

/// Without barriers, quiet threads keep their blocks. Blocks are small if there are many, so more
/// than a thousand threads have one each in the default pool.
#[test]
fn a_thousand_threads_without_barriers() {
    let run = child(
        "idle::a_thousand_threads_without_barriers",
        |process| process.env("TELEMETRY_BUFFER", "16M"),
        || {
            system::refuse_barriers();
            crowd(Crowd { threads: 1000, kinds: 1, events: 1000, later: 50_000 })
        },
    );
    assert_eq!((run.number("lost"), run.number("before")), (0, 0));
}

/// Threads that wait for memory get it from quiet lanes. Four threads with nine kinds each have
/// more lanes than the pool has room for large blocks.
#[test]
fn waiting_threads_get_the_memory_of_quiet_lanes() {
    const EVENTS: u64 = 100_000;
    let run = child(
        "idle::waiting_threads_get_the_memory_of_quiet_lanes",
        |process| process.env("TELEMETRY_POLICY", "wait:60").env("TELEMETRY_BUFFER", "256k"),
        || {
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        for kind in 0..9 {
                            (0..EVENTS).for_each(|number| emit(kind, thread, number));
                        }
                    });
                }
            });
            let counters = telemetry::counters::total();
            vec![("lost", counters.lost()), ("emitted", 4 * 9 * EVENTS)]
        },
    );
    assert_eq!(run.number("lost"), 0);
    assert_eq!(run.stream().events.len() as u64, run.number("emitted"));
}

/// Threads that emit in all their kinds in turn, in a pool with room for small blocks only. Each
/// lane keeps its block until it is full, so the stream has few headers.
#[test]
fn busy_lanes_keep_their_blocks_in_a_small_pool() {
    const EVENTS: u64 = 20_000;
    let run = child(
        "idle::busy_lanes_keep_their_blocks_in_a_small_pool",
        |process| process.env("TELEMETRY_POLICY", "wait:60").env("TELEMETRY_BUFFER", "256k"),
        || {
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        for number in 0..EVENTS {
                            (0..9).for_each(|kind| emit(kind, thread, number));
                        }
                    });
                }
            });
            vec![("lost", telemetry::counters::total().lost()), ("emitted", 4 * 9 * EVENTS)]
        },
    );
    assert_eq!(run.number("lost"), 0);
    let (stream, emitted) = (run.stream(), run.number("emitted"));
    assert_eq!(stream.events.len() as u64, emitted);
    // An event takes about 8 bytes, and a header 128.
    let bytes = std::fs::metadata(run.path()).expect("the stream").len();
    let per_event = bytes / emitted;
    assert!(per_event < 24, "{per_event} bytes for each event");
}
