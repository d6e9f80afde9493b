//! Rules about events that did not come because they were off, left out, or lost.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};

use telemetry_decode::Value;
use telemetry_format::Loss;
use telemetry_testing::made::{blocks, edit};

use super::programs::emitted;
use super::{Program, Sockets, wait};
use crate::streams::begun;
use crate::{impatient, served};

fn request() {
    served::request!(1_u32);
}

/// The events that `TELEMETRY_CONTROL` does not name were off from the start.
#[test]
fn a_rule_about_an_event_that_is_off_is_not_decided() {
    for (words, code, verdict) in [("Request", 0, "is not decided"), ("all", 1, "is broken")] {
        let sockets = Sockets::new();
        let test = "processes::rules::a_rule_about_an_event_that_is_off_is_not_decided";
        let program = Program::ready(&sockets, test, &[("TELEMETRY_CONTROL", words)], request);
        wait("an event", || emitted(&sockets, program.pid) > 0);
        program.end();
        let run = sockets.run("validate stream.tel");
        assert_eq!(run.code, Some(code), "{words}: {}", run.stderr);
        assert!(run.stderr.contains(&format!("rule `Answered` {verdict} 1 time")), "{words}: {}", run.stderr);
    }
}

/// Emits more answers than the limit allows.
fn ask() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let id = ASKED.fetch_add(1, Ordering::Relaxed);
    impatient::asked!(id);
    impatient::answered!(id);
}

/// The runtime says what its limits leave out, even if words take its events away.
#[test]
fn a_tail_knows_what_limits_leave_out() {
    let sockets = Sockets::new();
    let test = "processes::rules::a_tail_knows_what_limits_leave_out";
    let program = Program::ready(&sockets, test, &[("TELEMETRY_SAMPLE", "0.02")], ask);
    for words in ["", " Asked Answered -telemetry:all"] {
        let run = sockets.run(&format!("tail --rules -n 3 {}{words}", program.pid));
        let text = String::from_utf8(run.stdout).unwrap();
        let found: Vec<&str> = text.lines().filter(|line| line.starts_with("rule ")).collect();
        assert_eq!((found.len(), run.code), (3, Some(0)), "{text}{}", run.stderr);
        for line in found {
            let expected = ", but a limit may have left out an event that explains it";
            assert!(line.contains(" is not decided for id ") && line.ends_with(expected), "{line}");
        }
    }
    program.end();
}

/// A loss is known before a rule is called broken, although no event comes after it.
#[test]
fn a_tail_knows_what_is_lost() {
    let registry = telemetry_schema::parse(include_str!("../../../../tests/registries/served.toml")).unwrap();
    let (mut writer, lane) = begun(7, 1_795_240_051_000_000_000, "server", &registry);
    writer.event(lane, 1, 100_000, &[Value::Unsigned(8)]).unwrap();
    writer.flush().unwrap();
    let other = telemetry_decode::writer::Lane { thread: 2, ..lane };
    writer.lose(other, 0, Loss { pool: 1, ..Loss::default() }).unwrap();
    writer.flush().unwrap();
    let mut stream = writer.finish().unwrap();
    let last = blocks(&stream).pop().unwrap();
    edit(&mut stream[last], |header| header.end_ticks = 1_000_000_000);

    let sockets = Sockets::new();
    let pid = sockets.serve(move |request, to| {
        let is_tail = request.starts_with("tail ");
        let answer: &[u8] = if is_tail { b"ok\n" } else { b"ok\nlatency = 0.01\n" };
        let _ = to.write_all(answer);
        if is_tail {
            let _ = to.write_all(&stream);
            // Until the command has enough.
            let _ = to.read_to_end(&mut Vec::new());
        }
    });
    let run = sockets.run(&format!("tail --rules -n 1 {pid}"));
    let text = String::from_utf8(run.stdout).unwrap();
    let expected = "rule `Answered` is not decided for id 8: `Response` has not come within 10 ms after `Request`, \
                    but events are missing meanwhile";
    assert_eq!((text.lines().next(), run.code), (Some(expected), Some(0)), "{text}{}", run.stderr);
}
