//! Logs written again, directly and through streams.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Reader, Value};
use telemetry_foreign::ghc::{GhcLog, write};

use super::made::{self, Log, VARIABLE};
use super::{assert_same, shown, shown_by};
use crate::streams;

/// Returns the log written again, and what was left out.
pub(super) fn written(log: &[u8]) -> (Vec<u8>, Vec<String>) {
    let mut events = Reader::from_log(log, GhcLog::new().as_recorded(true)).events().expect("readable");
    let mut again = Vec::new();
    let written = write(&mut events, &mut again).expect("memory takes it");
    (again, written.left_out.into_keys().collect())
}

/// Returns the log as a stream of our own, without compression.
pub(super) fn as_stream(log: &[u8]) -> Vec<u8> {
    streams::of_log(log, GhcLog::new())
}

/// Checks that a log looks the same after each way of writing it again.
#[track_caller]
fn check(log: Log) {
    let log = log.end();
    let (expected, completeness) = shown(&log);
    assert!(completeness.is_complete(), "{completeness:?}");
    let (again, left_out) = written(&log);
    assert_eq!(left_out, [] as [String; 0]);
    assert_same(&shown(&again).0, &expected, "written again");
    let stream = as_stream(&log);
    assert_same(&shown_by(Reader::from_slice(&stream)).0, &expected, "as a stream");
    let mut by_stream = Vec::new();
    let mut events = Reader::from_slice(&stream).events().expect("a stream");
    let written = write(&mut events, &mut by_stream).expect("memory takes it");
    assert!(written.left_out.is_empty(), "{written:?}");
    assert_same(&shown(&by_stream).0, &expected, "by way of a stream");
}

#[test]
fn every_type_of_events_goes_there_and_back() {
    check(made::every_type());
}

#[test]
fn types_that_are_not_known_or_of_other_sizes_go_there_and_back() {
    check(made::odd_types());
}

/// A payload has up to 65535 bytes, a string of a registry 16384.
#[test]
fn long_texts_go_there_and_back() {
    let types = &[(18, 14, "Block marker"), (19, VARIABLE, "User message"), (800, VARIABLE, "Of an unknown")];
    let mut log = Log::new(types).block(1, 100, 0);
    for (time, len) in [(10, 16_384), (20, 16_385), (30, 40_000), (40, 65_535)] {
        let text = "é".repeat(len / 2) + &"x".repeat(len % 2);
        log = log.event(19, time, text.as_bytes()).event(800, time + 1, text.as_bytes());
    }
    check(log);
}

#[test]
fn small_logs_are_written_byte_for_byte() {
    for log in [made::small(), made::every_type(), made::odd_types()] {
        let log = log.end();
        let (again, _) = written(&log);
        assert_eq!(again, log);
    }
}

#[test]
fn what_a_log_cannot_have_is_counted() {
    let registry = telemetry_foreign::ghc::registry();
    let mut writer = Writer::new(Vec::new());
    let mut facts = telemetry_decode::Facts::default();
    facts.set("clock", "os");
    writer.session(1, &facts, 0, 0).expect("a session");
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry).expect("a registry") };
    // A string that would end too early.
    let values = [Value::Unsigned(1), Value::Word(2), Value::String("a\0b".into())];
    writer.event(lane, 164, 5, &values).expect("an event");
    writer.event(lane, 19, 6, &[Value::String("kept".into())]).expect("an event");
    writer.end(1, 6).expect("an end");
    let stream = writer.finish().expect("memory takes it");
    let mut log = Vec::new();
    let mut events = Reader::from_slice(&stream).events().expect("a stream");
    let written = write(&mut events, &mut log).expect("memory takes it");
    assert_eq!(written.events, 1);
    let left_out: Vec<_> = written.left_out.iter().map(|(why, events)| format!("{events} {why}")).collect();
    assert_eq!(left_out, ["1 are with a NUL in a string"]);
    assert!(shown(&log).0.ends_with("6: cap 0: event block: cap 0, end time: 6\n\n6: cap 0: kept\n\n"));
}
