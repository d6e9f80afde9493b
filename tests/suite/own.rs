//! The runtime's own events: they start no stream, but are in the first one.

use std::sync::Barrier;

use telemetry::{
    counters::{KindCounters, by_kind},
    flush,
};

use crate::heard::messages::Step;
use crate::heard::{self, Why};
use crate::support::ledger::Ledger;
use crate::support::process::child;
use crate::support::stream::{Owned, Stream};
use crate::support::system;

/// The end of a pair without a begin, on a thread that ends at once.
fn drop_in_a_thread() {
    std::thread::spawn(|| heard::step_end!(0)).join().expect("a thread that only emits");
}

/// The counters of the runtime's kinds together: emitted, written, evicted, lost.
fn counted() -> [u64; 4] {
    let of = |kind: KindCounters| kind.counters;
    let own = by_kind().into_iter().filter(|kind| kind.registry == "telemetry").map(of);
    own.fold([0; 4], |[emitted, written, evicted, lost], more| {
        [emitted + more.emitted(), written + more.written, evicted + more.evicted, lost + more.lost()]
    })
}

/// Threads of a program have come and gone, and the runtime has recorded events about them, before
/// the stream that `begins` starts. With or without flushes in between, these events are in that
/// stream, in order.
fn check(test: &str, flushes: bool, begins: impl Fn()) {
    let run = child(
        &format!("own::{test}"),
        |process| process.env("TELEMETRY_CONTROL", "0").env("TELEMETRY_LATENCY", "3600"),
        || {
            let pass = || flushes.then(flush).unwrap_or_default();
            Step::enable();
            drop_in_a_thread();
            pass();
            drop_in_a_thread();
            pass();
            telemetry::recorder::snapshot("before.tel").expect("a snapshot");
            std::thread::spawn(|| telemetry::set("all")).join().expect("a thread that only sets");
            pass();
            assert!(!telemetry::sinks::output().exists(), "a stream began");
            begins();
            flush();
            assert_eq!(counted(), [3, 3, 0, 0]);
            vec![]
        },
    );
    let dropped = |stream: &Stream| -> Vec<Owned> {
        let dropped = stream.own.iter().filter(|event| event.name == "MessagesDropped");
        dropped.map(|event| event.values[3].clone()).collect()
    };
    let stream = run.stream();
    assert_eq!(dropped(&stream), [1, 2].map(Owned::Number));
    assert_eq!(stream.own.iter().filter(|event| event.name == "ControlChange").count(), 1);
    let ledger = Ledger::of(run.path());
    assert_eq!((ledger.own, ledger.covered, ledger.lost.events()), (3, 1, 0));
    assert_eq!(dropped(&Stream::read(run.dir().join("before.tel"))), [1, 2].map(Owned::Number));
}

fn emit() {
    heard::trace_start!(1_u64, Why::Full, 2_u64, 3_u64);
}

#[test]
fn of_threads_that_end_before_the_stream_begins() {
    check("of_threads_that_end_before_the_stream_begins", false, emit);
}

#[test]
fn of_threads_that_end_passes_before_the_stream_begins() {
    check("of_threads_that_end_passes_before_the_stream_begins", true, emit);
}

#[test]
fn where_a_thread_that_has_ended_begins_the_stream() {
    check("where_a_thread_that_has_ended_begins_the_stream", true, || {
        std::thread::spawn(emit).join().expect("a thread that only emits");
    });
}

/// Without a stream, they are retained by the flight recorder's rules: as long as there is room.
#[test]
fn more_of_it_than_there_is_room_for() {
    const THREADS: u64 = 300;
    let run = child(
        "own::more_of_it_than_there_is_room_for",
        |process| process.env("TELEMETRY_CONTROL", "0").env("TELEMETRY_BUFFER", "256k"),
        || {
            Step::enable();
            for _ in 0..THREADS {
                drop_in_a_thread();
                flush();
            }
            assert!(!telemetry::sinks::output().exists(), "a stream began");
            telemetry::set("all");
            emit();
            flush();
            let [emitted, written, evicted, lost] = counted();
            assert_eq!((emitted, lost), (THREADS + 1, 0));
            assert_eq!(emitted, written + evicted, "nothing is retained");
            vec![("written", written), ("evicted", evicted)]
        },
    );
    let ledger = Ledger::of(run.path());
    assert_eq!((ledger.own, ledger.covered), (run.number("written"), 1));
    assert!(ledger.own > 16 && run.number("evicted") > THREADS / 2, "{ledger:?}");
}

/// There is no memory for the lanes of some threads. Their losses start the stream, because no lane
/// can tell them, and it has the events of the other threads.
#[test]
fn where_a_loss_of_no_lane_begins_the_stream() {
    const THREADS: usize = 20;
    // The pool comes with records for this number of lanes.
    const LANES: u64 = 8;
    let run = child(
        "own::where_a_loss_of_no_lane_begins_the_stream",
        |process| process.env("TELEMETRY_CONTROL", "0").env("TELEMETRY_BUFFER", "64k"),
        || {
            telemetry::Config::new().start().unwrap();
            Step::enable();
            let (all_run, is_short, all_lost) =
                (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
            std::thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        all_run.wait();
                        is_short.wait();
                        heard::step_end!(0);
                        all_lost.wait();
                    });
                }
                all_run.wait();
                system::limit_memory(0);
                is_short.wait();
                all_lost.wait();
                system::limit_memory(1 << 40);
            });
            flush();
            let [emitted, written, evicted, lost] = counted();
            assert_eq!((emitted, lost), (LANES, 0));
            // An earlier pass may have made room.
            assert_eq!(emitted, written + evicted, "nothing is retained");
            vec![("written", written), ("strays", telemetry::counters::total().lost_pool)]
        },
    );
    let ledger = Ledger::of(run.path());
    assert_eq!((ledger.own, ledger.covered), (run.number("written"), 0));
    assert!(ledger.own >= LANES / 2, "{ledger:?}");
    assert_eq!([ledger.lost.pool, run.number("strays")], [THREADS as u64 - LANES; 2]);
}
