//! Samples of threads, with real timers and signals.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::process::{Numbers, Outcome, Process, child, ending};
use crate::support::stream::{Event, Owned, Stream};
use crate::support::system;
use crate::work;

/// What a loop on a busy machine may take.
const LONGEST: Duration = Duration::from_secs(30);

/// The samples in a stream.
fn samples(stream: &Stream) -> Vec<&Event> {
    stream.own.iter().filter(|event| event.name == "Sampled").collect()
}

/// The periods that samples stand for.
fn periods(samples: &[&Event]) -> u64 {
    let of = |event: &&Event| match event.values[..] {
        [Owned::Number(_), Owned::Number(periods)] => u64::try_from(periods).expect("a count"),
        _ => panic!("{event:?}"),
    };
    samples.iter().map(of).sum()
}

fn with(words: &'static str) -> impl Fn(Process) -> Process {
    move |process| process.env("TELEMETRY_SAMPLING", words)
}

fn emit() {
    work::alloc!(1u64, 2u64, 3u64, 0);
}

/// Works for this much processor time of the thread. Returns how much it was in the end, in
/// milliseconds.
fn spin(milliseconds: u64) -> u64 {
    let (start, since) = (system::thread_time(), Instant::now());
    loop {
        let spent = (system::thread_time() - start).as_millis() as u64;
        if spent >= milliseconds {
            return spent;
        }
        assert!(since.elapsed() < LONGEST, "no processor time in {LONGEST:?}");
        (0..10_000).for_each(|step| _ = std::hint::black_box(step));
    }
}

/// Every period of processor time is in a sample, whatever the system's own clock does. The last
/// ones may come after the end.
fn check_periods(found: u64, spent: u64) {
    assert!(found <= spent + 2, "{found} periods in {spent} ms");
    assert!(found + 50 > spent * 9 / 10, "{found} periods in {spent} ms");
}

#[test]
fn processor_time_is_sampled() {
    let run = child("sampling::processor_time_is_sampled", with("cpu:1000"), || {
        emit();
        vec![("spent", spin(400))]
    });
    let stream = run.stream();
    let samples = samples(&stream);
    check_periods(periods(&samples), run.number("spent"));
    let has_no_stack = |event: &&Event| event.values[0] == Owned::Number(0);
    assert!(samples.len() > 10 && samples.iter().all(has_no_stack), "{samples:?}");
    assert!(stream.own.iter().all(|event| event.name != "Stack"));
}

#[test]
fn the_time_that_passes_is_sampled() {
    let run = child("sampling::the_time_that_passes_is_sampled", with("wall:200"), || {
        emit();
        let since = Instant::now();
        // A signal interrupts the system's call, and the library continues it.
        std::thread::sleep(Duration::from_millis(300));
        vec![("passed", since.elapsed().as_millis() as u64)]
    });
    let found = periods(&samples(&run.stream()));
    let passed = run.number("passed") / 5;
    assert!((passed / 2..=passed + 10).contains(&found), "{found} periods, {passed} expected");
}

/// Every thread that emits, and no other.
#[test]
fn threads_are_sampled_from_their_first_event_on() {
    let run = child("sampling::threads_are_sampled_from_their_first_event_on", with("cpu:1000"), || {
        let threads = [true, false, true].map(|emits| {
            std::thread::spawn(move || {
                spin(50);
                if emits {
                    emit();
                }
                spin(100)
            })
        });
        threads.into_iter().for_each(|thread| _ = thread.join().expect("a thread that works"));
        vec![]
    });
    let stream = run.stream();
    let samples = samples(&stream);
    let mut threads: Vec<u32> = samples.iter().map(|event| event.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    assert_eq!(threads.len(), 2, "{threads:?}");
    let found = periods(&samples);
    assert!((100..=260).contains(&found), "{found} periods of two threads, 100 ms each");
}

/// A timer counts as a pending signal, so that those of threads that ended would use up the limit.
#[test]
fn timers_end_with_their_threads() {
    let run = child("sampling::timers_end_with_their_threads", with("wall:10"), || {
        system::limit_pending_signals(50);
        for _ in 0..500 {
            std::thread::spawn(emit).join().expect("a thread that emits");
        }
        vec![]
    });
    assert!(!run.stderr.contains("sampling-failed"), "{}", run.stderr);
    assert_eq!(run.stream().events.len(), 500);
}

#[test]
fn a_thread_without_a_timer_is_reported() {
    let run = child("sampling::a_thread_without_a_timer_is_reported", with("wall:10"), || {
        system::limit_pending_signals(0);
        (0..2).for_each(|_| std::thread::spawn(emit).join().expect("a thread that emits"));
        vec![]
    });
    let notices = run.stderr.matches("telemetry: [sampling-failed 11] some threads are not sampled").count();
    // A process of root has no limit.
    assert!(notices == 1 || system::is_root() && notices == 0, "{}", run.stderr);
    assert_eq!(run.stream().events.len(), 2);
}

static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_: std::ffi::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// The program's handler stays, and gets only the program's signals.
#[test]
fn a_signal_that_the_program_uses_is_left_alone() {
    let run = child("sampling::a_signal_that_the_program_uses_is_left_alone", with("cpu:1000"), || {
        system::on_signal(libc::SIGPROF, handler);
        emit();
        spin(50);
        system::send(libc::SIGPROF);
        vec![("handled", HANDLED.load(Ordering::Relaxed))]
    });
    assert_eq!(run.number("handled"), 1);
    assert!(
        run.stderr.contains("[sampling-failed] no thread is sampled: the program has a handler of signal 27")
    );
    assert_eq!(samples(&run.stream()).len(), 0);
}

/// Threads that begin later have no timer, whose signals would call the program's handler.
#[test]
fn a_signal_that_the_program_takes_later_is_left_alone() {
    let run =
        child("sampling::a_signal_that_the_program_takes_later_is_left_alone", with("cpu:1000"), || {
            std::thread::spawn(emit).join().expect("a thread that emits");
            system::on_signal(libc::SIGPROF, handler);
            emit();
            spin(50);
            vec![("handled", HANDLED.load(Ordering::Relaxed))]
        });
    assert_eq!(run.number("handled"), 0);
    assert!(run.stderr.contains("[sampling-failed] new threads are not sampled"), "{}", run.stderr);
}

#[test]
fn another_signal_is_used_on_request() {
    let run = child("sampling::another_signal_is_used_on_request", with("cpu:1000,signal:40"), || {
        system::on_signal(libc::SIGPROF, handler);
        emit();
        vec![("spent", spin(100)), ("handled", HANDLED.load(Ordering::Relaxed))]
    });
    assert_eq!(run.number("handled"), 0);
    check_periods(periods(&samples(&run.stream())), run.number("spent"));
}

/// Without a timer behind it, the signal does what it does without sampling.
#[test]
fn a_signal_from_elsewhere_ends_the_program() {
    let run = ending("sampling::a_signal_from_elsewhere_ends_the_program", with("wall:100"), || {
        emit();
        telemetry::flush();
        system::send(libc::SIGPROF);
        vec![]
    });
    assert_eq!(run.status.signal(), Some(libc::SIGPROF), "{}", run.stderr);
}

#[test]
fn a_forked_child_is_sampled() {
    let run = child("sampling::a_forked_child_is_sampled", with("cpu:1000"), || {
        emit();
        let status = system::fork(|| {
            emit();
            spin(100);
        });
        assert!(status.success(), "{status}");
        vec![]
    });
    let found = periods(&samples(&Stream::read(run.path_of_child())));
    assert!((50..200).contains(&found), "{found} periods in 100 ms");
}

/// Emissions are interrupted anywhere. No event is lost, and no period without an account.
#[test]
fn a_storm_of_samples_during_emissions() {
    let setup = |process: Process| {
        process
            .env("TELEMETRY_SAMPLING", "wall:10000")
            .env("TELEMETRY_BUFFER", "64M")
            .env("TELEMETRY_LATENCY", "0.02")
    };
    let run = child("sampling::a_storm_of_samples_during_emissions", setup, || {
        emit();
        let (since, mut emitted) = (Instant::now(), 1);
        while since.elapsed() < Duration::from_millis(500) {
            emit();
            emitted += 1;
            if emitted % 64 == 0 {
                std::thread::sleep(Duration::from_micros(1));
            }
        }
        let tenths = since.elapsed().as_micros() as u64 / 100;
        telemetry::flush();
        vec![("emitted", emitted), ("tenths", tenths)]
    });
    let stream = run.stream();
    // A sample may interrupt the making of the first lane. Then it is lost as reentrant, and has no
    // lane itself. It is never lost for lack of memory.
    let lanes = stream.completeness.lanes.iter();
    let lost = lanes.map(|lane| if lane.thread == 0 { lane.lost.pool } else { lane.lost.events() });
    assert_eq!(lost.sum::<u64>(), 0);
    assert_eq!(stream.events.len() as u64, run.number("emitted"));
    let (found, tenths) = (periods(&samples(&stream)), run.number("tenths"));
    assert!(found + 200 > tenths && found < tenths * 2 + 1000, "{found} periods in {tenths} tenths");
}

/// What expires while samples are off does not count afterwards.
#[test]
fn samples_are_switched_off_and_on() {
    let run = child("sampling::samples_are_switched_off_and_on", with("cpu:1000"), || {
        emit();
        let first = spin(100);
        telemetry::control::reset("telemetry:Sample");
        telemetry::recorder::reset("telemetry:Sample");
        spin(200);
        telemetry::control::set("telemetry:Sample");
        vec![("spent", first + spin(100))]
    });
    let found = periods(&samples(&run.stream()));
    let spent = run.number("spent");
    assert!(found <= spent + 10 && found + 60 > spent, "{found} periods in {spent} ms");
}

/// The number of the last error is the thread's own, whatever interrupts it.
#[test]
fn errors_of_the_thread_stay() {
    let run = child("sampling::errors_of_the_thread_stay", with("wall:5000 stacks"), || {
        emit();
        let since = Instant::now();
        let mut wrong = 0;
        while since.elapsed() < Duration::from_millis(200) {
            wrong += u64::from(!system::keeps_errno(77));
        }
        vec![("wrong", wrong)]
    });
    assert_eq!(run.number("wrong"), 0);
    assert!(samples(&run.stream()).len() > 20);
}

#[test]
fn a_setting_that_is_not_understood_is_reported() {
    let outcome = |test: &str, setup: fn(Process) -> Process, body: fn() -> Numbers| -> Outcome {
        child(&format!("sampling::{test}"), setup, body)
    };
    let test = "a_setting_that_is_not_understood_is_reported";
    let run = outcome(
        test,
        |process| process.env("TELEMETRY_SAMPLING", "often"),
        || {
            // The variable counts as none, and then the program's own words do.
            telemetry::Config::new().sampling("cpu").start().expect("the first call");
            emit();
            vec![]
        },
    );
    assert!(run.stderr.contains("[invalid-setting] TELEMETRY_SAMPLING is `often`, expected `cpu:RATE`"));
    assert!(run.stderr.contains("[invalid-setting] `Config::sampling` is `cpu`, expected `cpu:RATE`"));
}

#[test]
fn the_program_can_ask_for_samples() {
    let run = child(
        "sampling::the_program_can_ask_for_samples",
        |process| process,
        || {
            telemetry::Config::new().sampling("cpu:1000").start().expect("the first call");
            emit();
            vec![("spent", spin(100))]
        },
    );
    check_periods(periods(&samples(&run.stream())), run.number("spent"));
}
