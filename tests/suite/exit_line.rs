//! The line about losses at the end of a process.

use std::cell::Cell;

use crate::loss::emit;
use crate::support::process::child;

/// A process that has lost events says so at its end, in one line that says what helps.
#[test]
fn a_process_says_what_it_has_lost() {
    let lost = |policy: &str, summary: &str| {
        let run = child(
            "exit_line::a_process_says_what_it_has_lost",
            |process| {
                let process = process.env("TELEMETRY_BUFFER", "64k").env("TELEMETRY_LATENCY", "3600");
                let process = process.env("TELEMETRY_FILENAME", "/dev/full");
                process.env("TELEMETRY_POLICY", policy).env("TELEMETRY_SUMMARY", summary)
            },
            || {
                emit(20_000, &Cell::new(0));
                vec![]
            },
        );
        let lines = run.stderr.lines().filter(|line| line.contains("[events-lost]"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let [line] = &lost("drop", "")[..] else { panic!("one line") };
    let line = line.strip_prefix("telemetry: [events-lost] ").expect("a notice");
    // Those that were still in memory at the end, too.
    assert!(line.starts_with("60,000 of 60,000 events lost: "), "{line}");
    assert!(line.contains(" (pool full), ") && line.contains(" (not written); "), "{line}");
    assert!(line.contains("; raise TELEMETRY_BUFFER or set TELEMETRY_POLICY=wait, make room on"), "{line}");
    let [line] = &lost("overwrite", "on")[..] else { panic!("one line") };
    let end = " events lost: not written; raise TELEMETRY_BUFFER or set TELEMETRY_POLICY=wait";
    assert!(line.ends_with(end), "{line}");
    assert_eq!(lost("drop", "off"), [""; 0]);
}

/// The policy `wait` needs no number of seconds.
#[test]
fn a_process_that_waits_loses_nothing_and_says_nothing() {
    let run = child(
        "exit_line::a_process_that_waits_loses_nothing_and_says_nothing",
        |process| {
            let process = process.env("TELEMETRY_BUFFER", "64k").env("TELEMETRY_POLICY", "wait");
            process.without("TELEMETRY_SUMMARY")
        },
        || {
            emit(20_000, &Cell::new(0));
            vec![("lost", telemetry::counters::total().lost())]
        },
    );
    assert_eq!((run.number("lost"), run.stderr.as_str()), (0, ""));
}
