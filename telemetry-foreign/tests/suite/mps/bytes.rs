//! Logs in their own order, against the output of `mpseventcnv`.

use telemetry_decode::names::Numbers;
use telemetry_decode::{AddressName, Order};
use telemetry_foreign::mps;

use super::made;
use super::shown::{Shown, shown};
use crate::reference;

/// Checks everything that must hold for a sound log.
fn check(log: &[u8], text: &str) -> Shown {
    let stream = shown(log, Order::Stream);
    let lines = text.lines().count() as u64;
    for (at, (found, expected)) in stream.text.lines().zip(text.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", at + 1);
    }
    assert_eq!(stream.text.len(), text.len());
    let mut sorted: Vec<&str> = text.lines().collect();
    sorted.sort();
    let time = shown(log, Order::Time);
    for (at, (found, expected)) in time.text.lines().zip(&sorted).enumerate() {
        assert_eq!(found, *expected, "line {} by time", at + 1);
    }
    for Shown { completeness, counted, .. } in [&stream, &time] {
        assert_eq!((completeness.events, *counted), (lines, lines));
        assert_eq!(completeness.bytes.read, log.len() as u64);
        assert!(completeness.damage.is_empty());
    }
    assert!(mps::recognize(&log[..log.len().min(4096)]));
    time
}

#[test]
fn a_small_log() {
    let Shown { sessions, completeness, .. } = check(&made::small(), made::SMALL);
    assert!(completeness.is_whole(), "{completeness:?}");
    let [session] = &sessions[..] else { panic!("one session, not {}", sessions.len()) };
    let facts = [
        ("format", "mps"),
        ("version", "2.0.0"),
        ("release", "1.118.0"),
        ("platform", "lii6gc"),
        ("variety", "asserted.logging.nonstats"),
        ("late_output", "5:960-fa0"),
    ];
    for (key, value) in facts {
        assert_eq!(session.facts.text(key), Some(value), "{key}");
    }
    // 3,000 microseconds in 3,980 ticks.
    assert_eq!(session.clock.start_ticks(), 1_000);
    assert_eq!(session.clock.ns(1_000 + 3_980), 3_000_000);
    let labels = &session.labels;
    let numbers = Numbers::of("mps", "string_id");
    let name = Some(AddressName::Text("a \"pool\" \\ of mine"));
    assert_eq!(labels.string_of(numbers, 2), Some("a \"pool\" \\ of mine"));
    // Addresses and pointers are separate.
    let (address, pool) = (0x7f00_0000_1000, 0x5500_0000_2000);
    assert_eq!((labels.name_of(address, 3_599), labels.name_of(address, 3_600)), (None, name));
    assert_eq!(labels.name_of_pointer(pool, 9_000), name);
    assert_eq!((labels.name_of(pool, 9_000), labels.name_of_pointer(address, 9_000)), (None, None));
}

#[test]
fn logs_without_a_beginning() {
    // With kinds switched off, neither EventInit nor the version's string are there.
    let log = made::small();
    let first = made::beginning(0).len();
    let text: String = made::SMALL.lines().skip(3).map(|line| format!("{line}\n")).collect();
    let Shown { sessions, .. } = check(&log[first..], &text);
    assert_eq!(sessions[0].facts.text("version"), None);
}

#[test]
fn real_logs() {
    let Some(folder) = reference::folder("mps") else { return };
    for name in reference::names(&folder, ".mpsio.log") {
        let read = |end: &str| reference::read(&folder.join(format!("{name}{end}")));
        let (Some(log), Some(text)) = (read(".mpsio.log"), read(".cnv.txt")) else { continue };
        eprintln!("{name}: {} bytes", log.len());
        let text = String::from_utf8(text).expect("these have only ASCII");
        let Shown { sessions, .. } = check(&log, &text);
        assert_eq!(sessions.len(), 1);
        assert_eq!(sessions[0].facts.text("format"), Some("mps"));
    }
}
