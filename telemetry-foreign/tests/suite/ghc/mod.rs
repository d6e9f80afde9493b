//! GHC's eventlogs.

mod damage;
mod made;
mod others;
mod read;
mod real;
mod round_trip;
mod seeds;

use telemetry_decode::{Completeness, Order, Reader};
use telemetry_foreign::ghc::{GhcLog, Show};

/// Returns the text of `show` for a log, and what was read of it.
fn shown(log: &[u8]) -> (String, Completeness) {
    shown_by(Reader::from_log(log, GhcLog::new()))
}

/// Returns the same with all events at the times when they were written.
fn shown_as_recorded(log: &[u8]) -> (String, Completeness) {
    shown_by(Reader::from_log(log, GhcLog::new().as_recorded(true)))
}

/// Returns the same for events of any source.
fn shown_by(reader: Reader<'_>) -> (String, Completeness) {
    let mut events = reader.order(Order::Time).events().expect("readable");
    let (mut show, mut text) = (Show::default(), Vec::new());
    while let Some(event) = events.next().expect("readable") {
        assert!(show.event(&mut text, &event), "an event that is none of GHC's");
    }
    show.end(&mut text);
    let text = String::from_utf8(text).expect("text is UTF-8, whatever the log has");
    (text, events.completeness())
}

/// Fails with the first line that differs.
#[track_caller]
fn assert_same(found: &str, expected: &str, what: &str) {
    for (number, (found, expected)) in found.split('\n').zip(expected.split('\n')).enumerate() {
        assert_eq!(found, expected, "{what}, line {}", number + 1);
    }
    assert_eq!(found.len(), expected.len(), "{what}: bytes of text");
}
