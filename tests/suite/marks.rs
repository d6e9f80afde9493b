//! Marks: moments with a text, from the program, from C and from outside.

use std::path::Path;

use telemetry_decode::Reader;

use crate::attach::ask;
use crate::support::process::{Numbers, Process, child};
use crate::work;

#[allow(unsafe_code)]
unsafe extern "C" {
    fn telemetry_mark(text: *const u8, length: usize);
}

/// Calls the function for C.
#[allow(unsafe_code)]
fn mark_in_c(text: &[u8]) {
    // SAFETY: the pointer and the length are those of the bytes.
    unsafe { telemetry_mark(text.as_ptr(), text.len()) };
}

/// The texts of the marks in a stream, by time, among the program's events.
fn marks(path: &Path) -> Vec<String> {
    let mut events = Reader::open(path).unwrap().events().unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        match (event.mark(), event.registry().name.as_str()) {
            (Some(text), _) => found.push(text.to_string()),
            (None, "work") => found.push(event.name().to_string()),
            (None, _) => {}
        }
    }
    found
}

fn check(test: &str, prepare: fn(Process) -> Process, act: fn() -> Numbers, expected: &[&str]) {
    let run = child(&format!("marks::{test}"), prepare, act);
    assert_eq!(marks(&run.path()), expected);
    assert_eq!(run.stderr, "");
}

fn emit() {
    work::alloc!(1u64, 2u64, 3u64, 0);
}

#[test]
fn stand_among_the_events() {
    let act = || {
        telemetry::mark!("before");
        emit();
        for round in 0..3 {
            telemetry::mark!("round");
            telemetry::mark(&format!("round {round}"));
        }
        mark_in_c(b"in C");
        mark_in_c(b"up to \xff");
        // SAFETY: a null pointer marks nothing.
        #[allow(unsafe_code)]
        unsafe {
            telemetry_mark(std::ptr::null(), 7);
        }
        emit();
        vec![]
    };
    let rounds = ["round", "round 0", "round", "round 1", "round", "round 2"];
    let expected = [&["before", "Alloc"], &rounds[..], &["in C", "up to ", "Alloc"]].concat();
    check("stand_among_the_events", |process| process, act, &expected);
}

/// A mark that is off is not recorded, and its text gets no label.
#[test]
fn are_switched_off_by_name() {
    let act = || {
        emit();
        telemetry::reset("telemetry:Mark");
        telemetry::recorder::reset("telemetry:Mark");
        telemetry::mark!("never");
        telemetry::mark("nor this");
        telemetry::set("telemetry:Mark");
        telemetry::mark!("again");
        assert_eq!(telemetry::intern("the second label").0, 2);
        vec![]
    };
    check("are_switched_off_by_name", |process| process, act, &["Alloc", "again"]);
}

/// A mark starts no stream, and is in the one that begins later.
#[test]
fn wait_for_a_stream() {
    let act = || {
        telemetry::mark!("early");
        telemetry::flush();
        assert!(!telemetry::sinks::output().exists(), "a stream began");
        telemetry::set("all");
        emit();
        vec![]
    };
    check("wait_for_a_stream", |process| process.without("TELEMETRY_CONTROL"), act, &["early", "Alloc"]);
}

#[test]
fn come_from_outside() {
    let act = || {
        emit();
        assert_eq!(ask("mark deploy 17, \"blue\""), "ok\n");
        emit();
        vec![]
    };
    check("come_from_outside", |process| process, act, &["Alloc", "deploy 17, \"blue\"", "Alloc"]);
}
