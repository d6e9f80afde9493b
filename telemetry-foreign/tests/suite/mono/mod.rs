//! Logs of the Mono log profiler.

mod hostile;
mod names;
mod read;
mod real_tool;
mod reference;
mod registry;
mod round_trip;
mod seeds;
mod shown;

use telemetry_decode::completeness::Damage;
use telemetry_decode::foreign::LogBytes;
use telemetry_decode::{Completeness, Order, Reader};
use telemetry_foreign::mono::{self, MonoLog, ReportOptions};
use telemetry_testing::mono as made;

/// Returns the text of `mono-debug` for a log, and the damage that it finds.
fn debug(log: &[u8]) -> (String, Vec<Damage>) {
    let mut text = Vec::new();
    let damaged = mono::debug(&mut LogBytes::from_slice(log), &mut text).expect("memory can be read");
    (String::from_utf8_lossy(&text).into_owned(), damaged)
}

/// Returns the text of `mono-report`, and the damage that it finds.
fn report(log: &[u8], options: ReportOptions) -> (String, Vec<Damage>) {
    let mut text = Vec::new();
    let damaged =
        mono::report(&mut LogBytes::from_slice(log), options, &mut text).expect("memory can be read");
    (String::from_utf8_lossy(&text).into_owned(), damaged)
}

/// Returns a line for each event, in an order, and what was read.
fn events(log: &[u8], order: Order) -> (Vec<String>, Completeness) {
    let mut events = Reader::from_log(log, MonoLog::new()).order(order).events().expect("readable");
    let mut lines = Vec::new();
    while let Some(event) = events.next().expect("readable") {
        let params = event.params().map(|param| format!(" {}:{}", param.schema.name, param.value));
        lines.push(format!(
            "{} {} {}{}",
            event.thread(),
            event.ticks(),
            event.name(),
            params.collect::<String>()
        ));
    }
    (lines, events.completeness())
}

/// Fails with the first line that differs.
fn assert_same(found: &str, expected: &str, what: &str) {
    for (number, (found, expected)) in found.split('\n').zip(expected.split('\n')).enumerate() {
        assert_eq!(found, expected, "{what}, line {}", number + 1);
    }
    assert_eq!(found.len(), expected.len(), "{what}: bytes of text");
}

/// Removes the positions in the tool of 2010's own memory from a text.
fn without_memory(text: &str) -> String {
    let lines =
        text.lines().map(|line| match line.strip_suffix(')').and_then(|line| line.rsplit_once(" (0x")) {
            Some((line, _)) if line.starts_with("alloced object") => format!("{line}\n"),
            _ => format!("{line}\n"),
        });
    lines.collect()
}
