//! The rules of a registry, checked on the events of a capture.

use std::panic::{AssertUnwindSafe, catch_unwind};

use telemetry::testing::{Captured, capture};

use crate::served;

/// Checks the message about rules that are broken: its first lines, and the marks of the events.
#[track_caller]
fn check(captured: &Captured, broken: &[&str], marks: &str) {
    let checked = catch_unwind(AssertUnwindSafe(|| captured.expect_rules()));
    let message = match checked {
        Ok(()) => String::new(),
        Err(panic) => *panic.downcast::<String>().expect("a message"),
    };
    let mut lines = message.lines();
    let found: Vec<&str> = lines.by_ref().take(broken.len()).collect();
    assert_eq!(found, broken, "{message}");
    assert_eq!(lines.map(|line| &line[..1]).collect::<String>(), marks, "{message}");
}

#[test]
fn rules_hold() {
    let captured = capture(|| {
        served::connect!("ann");
        served::request!(1_u32);
        served::request!(2_u32);
        served::response!(2_u32);
        served::response!(1_u32);
        served::disconnect!("ann");
        served::reload!();
    });
    // A test may be interrupted for longer than the rule allows.
    let took = captured.events()[4].time_ns() - captured.events()[1].time_ns();
    if took < 10_000_000 {
        check(&captured, &[], "");
    }
    check(&capture(|| ()), &[], "");
}

#[test]
fn what_never_comes_is_missing_at_the_end() {
    let captured = capture(|| {
        served::request!(8_u32);
        served::response!(7_u32);
    });
    let broken =
        "rule `Answered` is broken for id 8: `Response` did not come after `Request`, expected within 10 ms";
    check(&captured, &[broken], "= ");
}

#[test]
fn all_that_is_broken_is_told() {
    let captured = capture(|| {
        served::connect!("ann");
        served::reload!();
        served::connect!("bob");
        served::connect!("cid");
    });
    let broken = [
        "rule `NoReload` is broken: `Reload` came while span `Connection` was open",
        "rule `FewConnections` is broken: 3 spans `Connection` were open at once, expected at most 2",
    ];
    check(&captured, &broken, "=+ +");
}

#[test]
fn a_begin_counts_beside_the_open_span_that_it_replaces() {
    let captured = capture(|| {
        served::connect!("ann");
        served::connect!("ann");
        served::disconnect!("ann");
        served::connect!("ann");
    });
    let broken = "rule `OneConnection` is broken for peer \"ann\": 2 spans `Connection` were open at once, \
                  expected at most 1";
    check(&captured, &[broken], "=+  ");
}

#[test]
fn events_of_several_threads_are_in_one_order() {
    let captured = capture(|| {
        served::connect!("ann");
        let reload = std::thread::spawn(|| served::reload!());
        assert!(reload.join().is_ok());
        served::disconnect!("ann");
    });
    let broken = "rule `NoReload` is broken: `Reload` came while span `Connection` was open";
    check(&captured, &[broken], "=+ ");
}
