//! Limits: what is recorded and what the runtime tells of the rest is what was emitted.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use telemetry_decode::Reader;
use telemetry_schema::Limit;

use crate::limited;
use crate::support::process::{Numbers, Outcome, Process, child, ending};
use crate::support::stream::{Owned, Stream};
use crate::support::system::{self, Alarm};

/// What was left out of an event: the sum of what was told, the largest sum so far, and by thread.
#[derive(Debug, Default, PartialEq)]
struct LeftOut {
    told: u64,
    so_far: u64,
    threads: BTreeMap<u64, u64>,
}

fn run(test: &str, setup: impl Fn(Process) -> Process, body: impl Fn()) -> (Outcome, Stream) {
    let outcome = child(test, setup, || {
        body();
        Numbers::new()
    });
    let stream = outcome.stream();
    assert!(stream.completeness.is_complete(), "{}", stream.completeness);
    (outcome, stream)
}

fn left_out(stream: &Stream, name: &str) -> LeftOut {
    let mut sum = LeftOut::default();
    let text = |value: &Owned| match value {
        Owned::Text(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    };
    let number = |value: &Owned| match value {
        Owned::Number(number) => u64::try_from(*number).expect("a count"),
        other => panic!("{other:?} is no number"),
    };
    for event in stream.own.iter().filter(|event| event.name == "EventsLeftOut") {
        assert_eq!(text(&event.values[0]), "limited");
        if text(&event.values[1]) == name {
            let count = number(&event.values[3]);
            sum.told += count;
            sum.so_far = sum.so_far.max(number(&event.values[4]));
            *sum.threads.entry(number(&event.values[2])).or_default() += count;
        }
    }
    sum
}

fn recorded(stream: &Stream, name: &str) -> u64 {
    stream.by_name().get(name).copied().unwrap_or(0)
}

#[test]
fn each_thread_records_one_in_a_hundred() {
    let (_, stream) = run(
        "limits::each_thread_records_one_in_a_hundred",
        |process| process,
        || {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..10_001).for_each(|_| limited::polled!()));
                }
            });
        },
    );
    assert_eq!(recorded(&stream, "Polled"), 4 * 101);
    let found = left_out(&stream, "Polled");
    assert_eq!((found.told, found.so_far), (4 * 9_900, 4 * 9_900));
    assert!(found.threads.values().all(|&of_thread| of_thread == 9_900), "{found:?}");
    assert_eq!(found.threads.len(), 4);
}

#[test]
fn events_of_a_key_are_recorded_together() {
    const KEYS: u64 = 20_000;
    let (_, stream) = run(
        "limits::events_of_a_key_are_recorded_together",
        |process| process,
        || {
            std::thread::scope(|scope| {
                scope.spawn(|| (0..KEYS).for_each(|id| limited::request!(id, 1_usize)));
                scope.spawn(|| (0..KEYS).rev().for_each(|id| limited::response!(id)));
            });
        },
    );
    let kept: Vec<i128> = (0..KEYS).filter(|&id| Limit::keeps(10, id)).map(i128::from).collect();
    for name in ["Request", "Response"] {
        let of_name = stream.events.iter().filter(|event| event.name == name);
        let mut ids: Vec<i128> = of_name
            .map(|event| match event.values[0] {
                Owned::Number(id) => id,
                ref other => panic!("{other:?} is no number"),
            })
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, kept, "{name}");
        let expected = KEYS - kept.len() as u64;
        let found = left_out(&stream, name);
        assert_eq!((found.told, found.so_far), (expected, expected), "{name}");
    }
}

#[test]
fn a_thread_records_no_more_than_its_limit() {
    const EVENTS: u64 = 100_000;
    let (_, stream) = run(
        "limits::a_thread_records_no_more_than_its_limit",
        |process| process.env("TELEMETRY_SAMPLE", "0.001"),
        || {
            std::thread::scope(|scope| {
                for peer in 0..3_u32 {
                    scope.spawn(move || {
                        (0..EVENTS).for_each(|_| limited::refused!(peer));
                        limited::closed!();
                    });
                }
            });
        },
    );
    let recorded = recorded(&stream, "Refused");
    // At least what a bucket has at once, and a second more for each that the test took.
    let took = stream.events.iter().map(|event| event.time_ns).max().expect("events") / 1_000_000_000;
    assert!(recorded >= 3 * 7, "{recorded}");
    assert!(recorded <= 3 * (8 + took as u64 + 1), "{recorded} in {took} s");
    let found = left_out(&stream, "Refused");
    assert_eq!((found.told, found.so_far), (3 * EVENTS - recorded, 3 * EVENTS - recorded));
    assert_eq!(found.threads.len(), 3);
    // A thread tells its first event that is left out before all others.
    let closed = stream.events.iter().filter(|event| event.name == "Closed").map(|event| event.time_ns);
    let told = stream.own.iter().filter(|event| event.name == "EventsLeftOut").map(|event| event.time_ns);
    assert!(told.min() < closed.min());
}

#[test]
fn events_that_are_off_are_not_left_out() {
    let (_, stream) = run(
        "limits::events_that_are_off_are_not_left_out",
        |process| process.env("TELEMETRY_CONTROL", "Closed"),
        || {
            for id in 0..1_000_u64 {
                limited::polled!();
                limited::response!(id);
                limited::refused!(7);
                limited::closed!();
            }
        },
    );
    assert_eq!(recorded(&stream, "Closed"), 1_000);
    for name in ["Polled", "Response", "Refused"] {
        assert_eq!((recorded(&stream, name), left_out(&stream, name)), (0, LeftOut::default()), "{name}");
    }
}

#[test]
fn a_flush_tells_what_was_left_out_before() {
    let (_, stream) = run(
        "limits::a_flush_tells_what_was_left_out_before",
        |process| process.env("TELEMETRY_SAMPLE", "off"),
        || {
            (0..250).for_each(|_| limited::polled!());
            assert!(telemetry::flush());
            limited::closed!();
            (0..250).for_each(|_| limited::polled!());
        },
    );
    let closed = stream.events.iter().find(|event| event.name == "Closed").expect("the event");
    let told = stream.own.iter().filter(|event| event.name == "EventsLeftOut");
    let told =
        told.map(|event| (event.time_ns < closed.time_ns, event.values[3].clone(), event.values[4].clone()));
    let told: Vec<_> = told.collect();
    let [first, second, all] = [247, 248, 495].map(Owned::Number);
    assert_eq!(told, [(true, first.clone(), first), (false, second, all)]);
}

/// The emitters for C have the same limits.
#[test]
fn the_functions_for_c_are_limited() {
    unsafe extern "C" {
        #[link_name = "telemetry_emit_limited__polled"]
        unsafe fn polled();
        #[link_name = "telemetry_emit_limited__response"]
        unsafe fn response(id: u64);
    }
    let (_, stream) = run(
        "limits::the_functions_for_c_are_limited",
        |process| process,
        || {
            // SAFETY: the functions have these arguments.
            (0..1_000).for_each(|id| unsafe {
                polled();
                response(id);
            });
        },
    );
    let kept = (0..1_000).filter(|&id| Limit::keeps(10, id)).count() as u64;
    assert_eq!([recorded(&stream, "Polled"), recorded(&stream, "Response")], [10, kept]);
    assert_eq!(left_out(&stream, "Polled").told, 990);
    assert_eq!(left_out(&stream, "Response").told, 1_000 - kept);
}

#[test]
fn a_forked_child_begins_at_0() {
    let (run, stream) = run(
        "limits::a_forked_child_begins_at_0",
        |process| process,
        || {
            (0..500).for_each(|_| limited::polled!());
            let status = system::fork(|| (0..300).for_each(|_| limited::polled!()));
            assert!(status.success(), "{status}");
            (0..100).for_each(|_| limited::polled!());
        },
    );
    let check = |stream: &Stream, emitted| {
        let found = left_out(stream, "Polled");
        assert_eq!(recorded(stream, "Polled") + found.told, emitted);
        assert_eq!(found.told, found.so_far);
    };
    check(&stream, 600);
    check(&Stream::read(run.path_of_child()), 300);
}

/// Events that signal handlers emitted.
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn emits(_: libc::c_int) {
    HANDLED.fetch_add(2, Ordering::Relaxed);
    limited::polled!();
    limited::refused!(1);
}

#[test]
fn signal_handlers_count_what_they_leave_out() {
    const EVENTS: u64 = 300_000;
    let outcome = child(
        "limits::signal_handlers_count_what_they_leave_out",
        |process| process,
        || {
            system::on_signal(libc::SIGALRM, emits);
            let alarm = Alarm::every(Duration::from_micros(50));
            for _ in 0..EVENTS {
                limited::polled!();
                limited::refused!(2);
            }
            drop(alarm);
            vec![("handled", HANDLED.load(Ordering::Relaxed))]
        },
    );
    let stream = outcome.stream();
    let told = left_out(&stream, "Polled").told + left_out(&stream, "Refused").told;
    let lost = stream.completeness.lost().events();
    let emitted = 2 * EVENTS + outcome.number("handled");
    assert_eq!(stream.events.len() as u64 + told + lost, emitted);
}

/// The first event that a limit leaves out is told at once, for a program that is killed.
#[test]
fn a_killed_program_has_told_that_events_were_left_out() {
    let outcome = ending(
        "limits::a_killed_program_has_told_that_events_were_left_out",
        |process| process.env("TELEMETRY_RING", "app.ring").env("TELEMETRY_SAMPLE", "3600"),
        || {
            (0..1_000).for_each(|_| limited::refused!(3));
            system::send(libc::SIGKILL);
            Numbers::new()
        },
    );
    let out = outcome.dir().join("recovered.tel");
    let mut file = std::fs::File::create(&out).expect("a file");
    let images = Reader::open_all(&[outcome.dir().join("app.ring")]).expect("a ring file");
    images.recover(&mut file).expect("what is left");
    let stream = Stream::read_what_is_left(&out);
    assert!(recorded(&stream, "Refused") >= 7);
    assert!(left_out(&stream, "Refused").told >= 1);
}
