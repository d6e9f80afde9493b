//! The events that say how a program ended.

use std::process::ExitStatus;

use telemetry_decode::Reader;

use crate::support::process::{Numbers, Outcome, Process, ending};
use crate::work;

/// The runtime's events of the kind `Program` in the stream, by time, as text.
fn said(run: &Outcome) -> Vec<String> {
    let mut events = Reader::open(run.path()).unwrap().events().unwrap();
    let mut said = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if event.registry().name == "telemetry" && event.kind().name == "Program" {
            let values: Vec<_> = event.values().map(|value| value.to_string()).collect();
            said.push(format!("{} {}", event.name(), values.join(" ")));
        }
    }
    let completeness = events.completeness();
    assert!(completeness.is_complete(), "{completeness}");
    assert_eq!(completeness.lost().truncated, 0);
    said
}

fn check(
    test: &str,
    setup: impl Fn(Process) -> Process,
    status: impl Fn(ExitStatus) -> bool,
    expected: &[&str],
    body: fn() -> Numbers,
) {
    let run = ending(&format!("endings::{test}"), setup, body);
    assert!(status(run.status), "{}\n{}", run.status, run.stderr);
    assert_eq!(said(&run), expected);
}

fn emit() {
    work::alloc!(1u64, 2u64, 3u64, 0);
}

fn as_it_is(process: Process) -> Process {
    process
}

#[test]
fn success_says_nothing() {
    check(
        "success_says_nothing",
        as_it_is,
        |status| status.success(),
        &[],
        || {
            emit();
            vec![]
        },
    );
}

#[test]
fn a_status_is_an_event() {
    check(
        "a_status_is_an_event",
        as_it_is,
        |status| status.code() == Some(7),
        &["Exited 7"],
        || {
            emit();
            std::process::exit(7)
        },
    );
}

/// The line of the panic below.
const LINE: u32 = line!() + 4;

/// Panics with a message.
fn panics(message: &str) {
    panic!("{message}");
}

#[test]
fn a_panic_is_an_event_even_if_it_is_caught() {
    let of_main = format!("Panicked the heap is damaged {} {LINE}", file!());
    // What is too long is cut, which is no loss.
    let long = format!("Panicked {} {} {LINE}", "ä".repeat(512), file!());
    let check = |expected: &[&str]| {
        let test = "a_panic_is_an_event_even_if_it_is_caught";
        check(
            test,
            as_it_is,
            |status| status.success(),
            expected,
            || {
                emit();
                telemetry::recorder::flush_on_panic();
                let caught = std::panic::catch_unwind(|| panics("the heap is damaged"));
                assert!(caught.is_err());
                std::thread::spawn(|| panics(&"ä".repeat(2000))).join().expect_err("a panic");
                vec![]
            },
        );
    };
    check(&[&of_main, &long]);
}

/// Events that are switched off are not recorded. Programs whose events are not output say nothing.
#[test]
fn what_is_off_is_not_said() {
    let off = |process: Process| {
        process
            .env("TELEMETRY_CONTROL", "all -telemetry:Program")
            .env("TELEMETRY_RECORD", "-telemetry:Program")
    };
    check(
        "what_is_off_is_not_said",
        off,
        |status| status.code() == Some(7),
        &[],
        || {
            emit();
            telemetry::recorder::flush_on_panic();
            let _ = std::panic::catch_unwind(|| panics("the heap is damaged"));
            std::process::exit(7)
        },
    );
}
