//! Signal handlers that emit, whatever they interrupt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use telemetry_decode::{Order, Reader};

use crate::support::process::{Numbers, Outcome, child};
use crate::support::stream::Owned;
use crate::support::system::{self, Alarm};
use crate::{second, work};

/// Handlers that have run.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// The number of signals in a storm, and the least number on a busy machine.
const SIGNALS: u64 = 100_000;
const LEAST: u64 = SIGNALS / 10;
/// A storm that lasts this long ends with the least number of signals.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Distinguishes a handler's events from others.
const MARK: u64 = 1 << 63;

/// Emits into the lanes that the interrupted code may be in, into another lane, and into one of
/// another registry.
extern "C" fn handler(_: std::ffi::c_int) {
    let number = HANDLED.fetch_add(1, Ordering::Relaxed);
    work::alloc!(MARK | number, number << 13, number, 1);
    // Later than the interrupted event, which may take this event's time.
    work::tick!();
    work::fix!(MARK | number, number, number, 1);
    second::alloc!(number);
}

/// True until the storm is over.
fn storms(since: Instant) -> bool {
    let handled = HANDLED.load(Ordering::Relaxed);
    handled < LEAST || handled < SIGNALS && since.elapsed() < TIMEOUT
}

/// Emits rounds, numbered from `first`, as long as `goes_on`. Returns the next number.
fn emit_while(goes_on: impl Fn() -> bool, first: u64) -> u64 {
    let mut number = first;
    while number == first || goes_on() {
        // Small and large steps, so that both the fast and the slow path are interrupted.
        work::alloc!(number, number << (number % 50), number, 0);
        work::fix!(number, number, number, 0);
        number += 1;
        // Otherwise the stream would be longer than necessary.
        pause();
    }
    number
}

/// Waits about a microsecond without sleeping.
fn pause() {
    (0..600).for_each(|step| _ = std::hint::black_box(step));
}

/// After rounds of [`emit_while`] on some threads.
fn numbers(rounds: u64) -> Numbers {
    telemetry::flush();
    let counters = telemetry::counters::total();
    let emitted = 2 * rounds + 4 * HANDLED.load(Ordering::Relaxed);
    assert_eq!(counters.written + counters.lost_reentrant, emitted, "{counters:?}");
    vec![
        ("rounds", rounds),
        ("handled", HANDLED.load(Ordering::Relaxed)),
        ("emitted", emitted),
        ("reentrant", counters.lost_reentrant),
    ]
}

/// Every event is in the stream as it was emitted, except those of handlers that are counted as
/// reentrant.
fn check(run: &Outcome) {
    let stream = run.stream();
    assert!(run.number("reentrant") > 0, "no signal of a storm came at a bad moment");
    assert_eq!(stream.completeness.lost().reentrant, run.number("reentrant"));
    assert_eq!(stream.events.len() as u64, run.number("emitted") - run.number("reentrant"));
    let until = (100 * TIMEOUT).as_nanos() as i64;
    assert!(stream.events.iter().all(|event| (0..until).contains(&event.time_ns)), "an event at no time");
    check_times(run);
    let (mut rounds, mut handlers) = (BTreeMap::new(), BTreeSet::new());
    for event in stream.events.iter().filter(|event| event.name == "Alloc") {
        match event.values.iter().map(number).collect::<Vec<_>>()[..] {
            [pointer, addr, size, 0] => {
                // Interrupted events are never lost.
                let next = rounds.entry(event.thread).or_insert(0);
                assert_eq!([pointer, addr, size], [*next, *next << (*next % 50), *next]);
                *next += 1;
            }
            [pointer, addr, size, _] => {
                assert_eq!([pointer, addr], [MARK | size, size << 13]);
                assert!(handlers.insert(size), "handler {size} twice");
            }
            _ => {}
        }
    }
    assert_eq!(rounds.values().sum::<u64>(), run.number("rounds"));
}

/// The times of a lane never go back.
fn check_times(run: &Outcome) {
    let mut events =
        Reader::open(run.path()).expect("a stream").order(Order::Stream).events().expect("a stream");
    let mut lanes = BTreeMap::new();
    while let Some(event) = events.next().expect("a readable stream") {
        let lane = lanes.entry((event.thread(), std::ptr::from_ref(event.kind())));
        let before = lane.or_insert(0);
        assert!(event.ticks() >= *before, "{} ticks back in {}", *before - event.ticks(), event.name());
        *before = event.ticks();
    }
}

fn number(value: &Owned) -> u64 {
    match value {
        Owned::Number(number) => u64::try_from(*number).expect("64 bits"),
        other => panic!("{other:?} is no number"),
    }
}

#[test]
fn a_storm_on_one_thread() {
    let run = child(
        "signals::a_storm_on_one_thread",
        |process| process.env("TELEMETRY_BUFFER", "64M").env("TELEMETRY_LATENCY", "0.02"),
        || {
            // The runtime may start only in an emitter of the program, because starting it creates
            // a thread.
            let first = emit_while(|| false, 0);
            system::on_signal(libc::SIGALRM, handler);
            let alarm = Alarm::every(Duration::from_micros(20));
            let since = Instant::now();
            let rounds = emit_while(|| storms(since), first);
            drop(alarm);
            numbers(rounds)
        },
    );
    check(&run);
}

#[test]
fn a_storm_on_several_threads() {
    let run = child(
        "signals::a_storm_on_several_threads",
        |process| process.env("TELEMETRY_BUFFER", "64M").env("TELEMETRY_LATENCY", "0.02"),
        || {
            system::on_signal(libc::SIGUSR1, handler);
            let since = Instant::now();
            let threads = [(); 2].map(|()| {
                let (sender, receiver) = mpsc::channel();
                let thread = std::thread::spawn(move || {
                    sender.send(system::this_thread()).expect("a thread that waits");
                    // Signals before the first event, too.
                    emit_while(|| storms(since), 0)
                });
                (thread, receiver.recv().expect("a thread's number"))
            });
            while storms(since) {
                threads.iter().for_each(|(_, id)| system::signal_thread(*id, libc::SIGUSR1));
                pause();
            }
            numbers(threads.map(|(thread, _)| thread.join().expect("a thread that only emits")).iter().sum())
        },
    );
    check(&run);
}
