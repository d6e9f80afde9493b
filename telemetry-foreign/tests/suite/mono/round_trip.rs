//! A log through a stream and back.

use telemetry_decode::writer::Writer;
use telemetry_decode::{Filter, Order, Reader};
use telemetry_foreign::{Written, mono};
use telemetry_schema::Registry;

use super::{debug, made, without_memory};
use crate::streams;

/// Returns a log as a stream of our own, with its events by time.
pub(crate) fn stream(log: &[u8]) -> Vec<u8> {
    streams::of_log(log, mono::MonoLog::new())
}

/// Returns the same with a changed registry.
pub(crate) fn stream_with(log: &[u8], change: impl Fn(&mut Registry)) -> Vec<u8> {
    streams::of_log_with(log, mono::MonoLog::new(), change)
}

/// Writes a stream's events as a log.
pub(crate) fn log_of(stream: &[u8], filter: Filter) -> (Vec<u8>, Written) {
    let mut events = Reader::from_slice(stream).filter(filter).events().unwrap();
    let mut log = Vec::new();
    let written = mono::write(&mut events, &mut log).unwrap();
    (log, written)
}

#[test]
fn a_log_comes_back_byte_for_byte() {
    let log = made::one();
    let (again, written) = log_of(&stream(&log), Filter::default());
    assert_eq!(written.left_out, Default::default());
    assert_eq!(again, log);
}

/// A name may be as long as a buffer.
#[test]
fn long_names_come_back() {
    let name = "n".repeat(60_000);
    let events = ["\x22\x01\x02\x10\x00", &name, "\0\x16\x01"].concat();
    let log = [made::file_one(), made::buffer(1, 10, events.as_bytes())].concat();
    let (again, written) = log_of(&stream(&log), Filter::default());
    assert_eq!((again, written.left_out), (log.clone(), Default::default()));
    assert!(debug(&log).0.contains(&name));
}

#[test]
fn events_of_no_buffer_get_one() {
    let filter = Filter::default().kinds(["Methods", "Allocs"]);
    let (again, written) = log_of(&stream(&made::one()), filter);
    assert_eq!(written.left_out.values().sum::<u64>(), 0, "{written:?}");
    let lines = |log: &[u8]| {
        let (text, damaged) = debug(log);
        assert_eq!(damaged, []);
        let mut lines: Vec<String> = without_memory(&text)
            .lines()
            .filter(|line| line.contains(" method ") || line.starts_with("alloced"))
            .map(|line| line.split(" (").next().unwrap().to_string())
            .filter(|line| !line.starts_with("clause") && !line.contains("unmatched"))
            // Which names are known when depends on the order of buffers.
            .map(|line| line.split(" method ").next().unwrap().to_string())
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&again), lines(&made::one()));
}

#[test]
fn what_version_1_does_not_have_is_counted() {
    let (log, written) = log_of(&stream(&made::seventeen()), Filter::default());
    let left_out = written.left_out.get("that data version 1 does not have").copied().unwrap_or_default();
    assert_eq!(written.events + left_out + 1, super::events(&made::seventeen(), Order::Time).0.len() as u64);
    let (text, damaged) = debug(&log);
    assert_eq!(damaged, []);
    assert!(text.contains("jitted method 0x5008 (Prog:Main ()), size: 300\n"), "{text}");
    // Later tools read them as those of later versions, which are longer.
    let (lines, _) = super::events(&log, Order::Stream);
    assert!(
        lines.iter().all(|line| !line.contains("DomainLoad") && !line.contains("AssemblyLoad")),
        "{lines:?}"
    );
}

#[test]
fn an_empty_stream_is_an_empty_log() {
    let (log, written) = log_of(&Writer::new(Vec::new()).finish().unwrap(), Filter::default());
    assert_eq!((log.len(), written.events), (made::FILE_LEN, 0));
    assert_eq!(debug(&log), ("\nMono log profiler data\n\tData version: 1\n".to_string(), vec![]));
}
