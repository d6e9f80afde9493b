//! Fatal signals as events, with real signals.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use telemetry::sinks::{Batch, Sink};
use telemetry_decode::Reader;

use crate::support::process::{Numbers, Outcome, Process, ending};
use crate::support::system;
use crate::work;

/// The runtime's events of the kind `Program` in a stream, as text.
fn said(path: &std::path::Path) -> Vec<String> {
    let mut events = Reader::open(path).unwrap().events().unwrap();
    let mut said = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if event.kind().name == "Program" {
            let values: Vec<_> = event.values().map(|value| value.to_string()).collect();
            said.push(format!("{} {}", event.name(), values.join(" ")));
        }
    }
    said
}

/// Runs a body that dies by a signal. Without a latency, only the sweep that the signal asks for
/// can write the events.
fn dies(test: &str, signal: i32, setup: fn(Process) -> Process, body: fn() -> Numbers) -> Outcome {
    let asks =
        |process: Process| setup(process.env("TELEMETRY_SIGNALS", "1").env("TELEMETRY_LATENCY", "3600"));
    let run = ending(&format!("fatal::{test}"), asks, body);
    assert_eq!(run.status.signal(), Some(signal), "{}\n{}", run.status, run.stderr);
    run
}

fn as_it_is(process: Process) -> Process {
    process
}

fn emit() {
    work::alloc!(1u64, 2u64, 3u64, 0);
}

/// Sends this thread a signal.
#[allow(unsafe_code)]
fn raise(signal: i32) {
    // SAFETY: takes no pointers.
    unsafe { libc::raise(signal) };
}

/// Reads where no memory is.
#[allow(unsafe_code)]
fn fault() {
    let nowhere = std::hint::black_box(16_usize) as *const u8;
    // SAFETY: none; the test is about what happens then.
    unsafe { nowhere.read_volatile() };
}

macro_rules! sent {
    ($($test:ident $signal:ident $name:literal)*) => {$(
        #[test]
        fn $test() {
            let run = dies(stringify!($test), libc::$signal, as_it_is, || {
                emit();
                // The standard library's handler of some signals expects that a fault is repeated.
                // So it ignores the first one that is sent, with or without ours.
                raise(libc::$signal);
                raise(libc::$signal);
                vec![]
            });
            // The C library sends it.
            assert_eq!(said(&run.path()), [format!("Signaled {} -6 0x0", $name)]);
        }
    )*};
}

sent! {
    a_segv_that_is_sent SIGSEGV "Segv"
    a_bus_that_is_sent SIGBUS "Bus"
    an_ill_that_is_sent SIGILL "Ill"
    an_fpe_that_is_sent SIGFPE "Fpe"
    an_abrt_that_is_sent SIGABRT "Abrt"
    a_trap_that_is_sent SIGTRAP "Trap"
    a_sys_that_is_sent SIGSYS "Sys"
}

#[test]
fn an_invalid_access() {
    let run = dies("an_invalid_access", libc::SIGSEGV, as_it_is, || {
        emit();
        fault();
        vec![]
    });
    assert_eq!(said(&run.path()), ["Signaled Segv 1 0x10"]);
}

/// The standard library's own handler still says what happened, and ends the program as always, by
/// another signal.
#[test]
fn a_stack_that_overflows() {
    fn deeper(depth: u64) -> u64 {
        let frame = std::hint::black_box([depth; 64]);
        if depth == u64::MAX { 0 } else { deeper(depth + 1).wrapping_add(frame[7]) }
    }
    let run = dies("a_stack_that_overflows", libc::SIGABRT, as_it_is, || {
        let thread = std::thread::spawn(|| {
            emit();
            deeper(std::hint::black_box(0))
        });
        let _ = thread.join();
        vec![]
    });
    assert!(run.stderr.contains("overflowed its stack"), "{}", run.stderr);
    let said = said(&run.path());
    assert!(said.len() == 1 && said[0].starts_with("Signaled Segv 2 "), "{said:?}");
}

/// Without the setting, no signal has another handler, and nothing is said.
#[test]
fn nothing_without_the_setting() {
    let off = |process: Process| process.without("TELEMETRY_SIGNALS");
    let run = dies("nothing_without_the_setting", libc::SIGSEGV, off, || {
        emit();
        telemetry::flush();
        fault();
        vec![]
    });
    assert_eq!(said(&run.path()), [""; 0]);
}

/// A thread that has recorded nothing says nothing, and does not wait.
#[test]
fn in_a_thread_without_events() {
    let run = dies("in_a_thread_without_events", libc::SIGABRT, as_it_is, || {
        emit();
        telemetry::flush();
        let _ = std::thread::spawn(|| raise(libc::SIGABRT)).join();
        vec![]
    });
    assert_eq!(said(&run.path()), [""; 0]);
}

/// The C library finds a broken heap, and gives up with the lock of that heap.
#[cfg(target_env = "gnu")]
#[test]
fn inside_malloc() {
    let run = dies("inside_malloc", libc::SIGABRT, as_it_is, || {
        emit();
        // SAFETY: none; the test is about what happens then.
        #[allow(unsafe_code)]
        unsafe {
            let [one, _next] = [libc::malloc(5000), libc::malloc(5000)].map(std::hint::black_box);
            libc::free(one);
            libc::free(std::hint::black_box(one));
        }
        vec![]
    });
    assert!(run.stderr.contains("double free"), "{}", run.stderr);
    assert_eq!(said(&run.path()), ["Signaled Abrt -6 0x0"]);
}

/// A fault in a sink of the program: the thread that makes the pass does not wait for one.
#[test]
fn in_a_pass() {
    struct Faulty;
    impl Sink for Faulty {
        fn write(&mut self, _: &Batch<'_>) -> std::io::Result<()> {
            fault();
            Ok(())
        }
    }
    let since = Instant::now();
    dies(
        "in_a_pass",
        libc::SIGSEGV,
        |process| process.without("TELEMETRY_FILENAME"),
        || {
            telemetry::Config::new().sink(Faulty).start().expect("the first call");
            emit();
            telemetry::flush();
            vec![]
        },
    );
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}", since.elapsed());
}

/// A sink that never takes anything does not keep the process alive.
#[test]
fn while_a_sink_is_stuck() {
    struct Stuck;
    impl Sink for Stuck {
        fn write(&mut self, _: &Batch<'_>) -> std::io::Result<()> {
            loop {
                std::thread::park();
            }
        }
    }
    dies(
        "while_a_sink_is_stuck",
        libc::SIGSEGV,
        |process| process.without("TELEMETRY_FILENAME"),
        || {
            telemetry::Config::new().sink(Stuck).start().expect("the first call");
            emit();
            fault();
            vec![]
        },
    );
}

#[test]
fn in_a_forked_child() {
    let run = ending(
        "fatal::in_a_forked_child",
        |process| process.env("TELEMETRY_SIGNALS", "1").env("TELEMETRY_LATENCY", "3600"),
        || {
            emit();
            let status = system::fork(|| {
                emit();
                fault();
            });
            vec![("status", status.signal().unwrap_or_default() as u64)]
        },
    );
    let run = run.succeeded();
    assert_eq!(run.number("status"), libc::SIGSEGV as u64);
    assert_eq!(said(&run.path_of_child()), ["Signaled Segv 1 0x10"]);
    assert_eq!(said(&run.path()), [""; 0]);
}
