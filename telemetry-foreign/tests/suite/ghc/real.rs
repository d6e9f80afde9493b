//! Logs that GHC's programs wrote, if they are present.

use telemetry_decode::Reader;

use super::round_trip::{as_stream, written};
use super::{assert_same, shown, shown_by};
use crate::reference;

/// Hands every reference log, and what `ghc-events show` 0.21 printed of it, to a function.
fn each(mut visit: impl FnMut(&str, &[u8], &str)) {
    let Some(folder) = reference::folder("ghc") else { return };
    for name in reference::names(&folder, ".eventlog") {
        let log = std::fs::read(folder.join(format!("{name}.eventlog"))).expect("a log");
        let Some(text) = reference::read(&folder.join(format!("{name}.show.txt"))) else { return };
        visit(&name, &log, &String::from_utf8(text).expect("text"));
    }
}

#[test]
fn logs_are_shown_as_ghc_events_shows_them() {
    each(|name, log, expected| {
        let (text, completeness) = shown(log);
        assert_same(&text, expected, name);
        assert!(completeness.is_complete(), "{completeness:?}");
        assert_eq!(completeness.bytes.total(), log.len() as u64);
    });
}

#[test]
fn logs_are_the_same_after_they_were_written_again() {
    each(|name, log, expected| {
        let (again, left_out) = written(log);
        assert_eq!(left_out, [] as [String; 0], "{name}");
        // Except for the ends of collections, which go back in time, the bytes are equal.
        assert_eq!(again.len(), log.len(), "{name}");
        assert_same(&shown(&again).0, expected, name);
    });
}

#[test]
fn logs_are_the_same_after_they_were_streams() {
    each(|name, log, expected| {
        let stream = as_stream(log);
        assert_same(&shown_by(Reader::from_slice(&stream)).0, expected, name);
        let mut again = Vec::new();
        let mut events = Reader::from_slice(&stream).events().expect("a stream");
        let written = telemetry_foreign::ghc::write(&mut events, &mut again).expect("memory takes it");
        assert!(written.left_out.is_empty(), "{written:?}");
        assert_same(&shown(&again).0, expected, name);
        eprintln!("{name}: {} bytes of {}", stream.len(), log.len());
        if log.len() > 100_000 {
            assert!(stream.len() < log.len(), "{name}: {} bytes of {}", stream.len(), log.len());
        }
    });
}
