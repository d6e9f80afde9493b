//! Expectations, and the messages of those that fail.

use std::panic::{AssertUnwindSafe, catch_unwind};

use telemetry::testing::{Captured, capture};

use crate::cache::{self, Evicted, Hit, Loaded, Miss, Why};

fn events() -> Captured {
    capture(|| {
        cache::miss!(7_u64);
        cache::evicted!(1_u64, 64_usize, Why::Full);
        cache::hit!(2_u64);
        cache::evicted!(3_u64, 128_usize, Why::Old);
        cache::loaded!(7_u64, "the \"disk\"");
    })
}

#[test]
fn a_sequence_is_found() {
    let events = events();
    let second = events.expect::<Miss>().then::<Evicted>().with(|evicted| evicted.size > 64);
    assert_eq!(second.event().key, 3);
    assert_eq!(second.event().why, Ok(Why::Old));
    second.then::<Loaded>().with(|loaded| loaded.key == 7).with(|loaded| loaded.source.contains("disk"));
    events.expect::<Evicted>().then::<Evicted>().then_none::<Hit>();
    let wanted = 1;
    events.expect::<Evicted>().with(|evicted| evicted.key == wanted).then::<Hit>();
    assert_eq!(events.count::<Evicted>(), 2);
    assert_eq!(events.of::<Evicted>().map(|evicted| evicted.size).sum::<u64>(), 192);
    let none = capture(|| ());
    none.expect_none::<Miss>();
}

/// Checks the message of an expectation that fails. Times and the thread's name are left out, which
/// are others in each run.
#[track_caller]
fn check(expect: impl FnOnce(&Captured), expected: &str) {
    check_of(&events(), expect, expected);
}

#[track_caller]
fn check_of(events: &Captured, expect: impl FnOnce(&Captured), expected: &str) {
    let panic = catch_unwind(AssertUnwindSafe(|| expect(events))).expect_err("the expectation fails");
    let message = panic.downcast::<String>().expect("a message");
    assert_eq!(without_times(events, &message), expected);
}

fn without_times(events: &Captured, message: &str) -> String {
    let thread = events.events().first().and_then(|event| event.thread_name()).unwrap_or("no thread");
    let line = |line: &str| match (line.split_once(thread), line.starts_with("- ")) {
        (Some((_, rest)), _) => format!("{}{}", &line[..2], rest.trim_start()),
        (None, true) => format!("- {}", line[2..].trim()),
        _ => line.to_string(),
    };
    message.lines().map(|text| line(text).trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_event_that_does_not_come() {
    check(
        |events| _ = events.expect::<Evicted>().then::<Miss>(),
        "expected `Miss` after `Evicted`, and it did not come
  Lookup  Miss     key:7
= Evict   Evicted  key:1  size:64 bytes  why:Full
- Miss
  Lookup  Hit      key:2
  Evict   Evicted  key:3  size:128 bytes  why:Old
  Lookup  Loaded   key:7  source:\"the \\\"disk\\\"\"",
    );
    check_of(
        &capture(|| ()),
        |events| _ = events.expect::<Hit>(),
        "expected `Hit`, and it did not come; the capture has no event\n- Hit",
    );
}

#[test]
fn an_event_that_does_not_pass() {
    check(
        |events| _ = events.expect::<Miss>().then::<Evicted>().with(|evicted| evicted.size > 128),
        "expected `Evicted` after `Miss` that passes the test, and none of those that came does (2)
= Lookup  Miss     key:7
- Evicted
+ Evict   Evicted  key:1  size:64 bytes  why:Full
  Lookup  Hit      key:2
+ Evict   Evicted  key:3  size:128 bytes  why:Old
  Lookup  Loaded   key:7  source:\"the \\\"disk\\\"\"",
    );
}

#[test]
fn an_event_that_should_not_come() {
    check(
        |events| events.expect_none::<Hit>(),
        "expected no `Hit`, and 1 came
  Lookup  Miss     key:7
  Evict   Evicted  key:1  size:64 bytes  why:Full
+ Lookup  Hit      key:2
  Evict   Evicted  key:3  size:128 bytes  why:Old
  Lookup  Loaded   key:7  source:\"the \\\"disk\\\"\"",
    );
    check(
        |events| events.expect::<Hit>().then_none::<Evicted>(),
        "expected no `Evicted` after `Hit`, and 1 came
  Lookup  Miss     key:7
  Evict   Evicted  key:1  size:64 bytes  why:Full
= Lookup  Hit      key:2
+ Evict   Evicted  key:3  size:128 bytes  why:Old
  Lookup  Loaded   key:7  source:\"the \\\"disk\\\"\"",
    );
}

#[test]
fn all_events_are_shown() {
    let text = format!("{:?}", events());
    assert_eq!(text.lines().count(), 5);
    assert!(text.lines().next().unwrap().ends_with("Miss     key:7"), "{text}");
    assert_eq!(format!("{:?}", capture(|| ())), "");
}

#[test]
fn a_long_list_is_shortened() {
    let events = capture(|| (0..1000_u64).for_each(|key| cache::hit!(key)));
    let panic = catch_unwind(AssertUnwindSafe(|| _ = events.expect::<Miss>())).unwrap_err();
    let message = without_times(&events, panic.downcast_ref::<String>().unwrap());
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines.len(), 2 + 20 + 1 + 20);
    assert_eq!(lines[21..24], ["  Lookup  Hit  key:19", "  ... 960 more", "  Lookup  Hit  key:980"]);
}
