//! Labels from end to end: interned anywhere, at any time, and known to a reader of any part of a
//! stream.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use telemetry::{
    Label,
    sinks::{Batch, Sink, Start},
};
use telemetry_decode::{Reader, Value};
use telemetry_schema::LoadCause;

use crate::labeled;
use crate::support::package::Workspace;
use crate::support::process::{Process, child};
use crate::support::stream::{Owned, Stream};
use crate::support::system::{self, Alarm};

/// Labels in a stream, and their uses.
struct ReadLabels {
    strings: BTreeMap<i128, String>,
    addresses: Vec<(i128, i128)>,
    used: Vec<(i128, i128)>,
    stream: Stream,
}

impl ReadLabels {
    fn read(path: impl AsRef<Path>) -> ReadLabels {
        let stream = Stream::read(path);
        let mut read = ReadLabels { strings: BTreeMap::new(), addresses: vec![], used: vec![], stream };
        for event in read.stream.own.iter().chain(&read.stream.events) {
            match (event.name.as_str(), &event.values[..]) {
                ("Intern", [Owned::Number(label), Owned::Text(text)]) => {
                    assert_eq!(read.strings.insert(*label, text.clone()), None, "{label} comes once");
                }
                ("LabelAddress", [Owned::Number(address), Owned::Number(label)]) => {
                    read.addresses.push((*address, *label));
                }
                ("Used", [Owned::Number(label), Owned::Number(number)]) => {
                    read.used.push((*label, *number));
                }
                (name, values) => assert_eq!(name, "ControlChange", "{values:?}"),
            }
        }
        read
    }

    /// Checks that each label that is used stands for the string of its number, and that no string
    /// has two labels. Returns the number of uses.
    fn check(&self, string: impl Fn(i128) -> String) -> usize {
        for (label, number) in &self.used {
            assert_eq!(self.strings[label], string(*number));
        }
        let mut strings: Vec<_> = self.strings.values().collect();
        strings.sort();
        strings.dedup();
        assert_eq!(strings.len(), self.strings.len());
        self.used.len()
    }
}

fn string(number: i128) -> String {
    format!("string {number}")
}

/// Uses the label of the string of a number.
fn use_string(number: u64) {
    labeled::used!(telemetry::intern(&string(number.into())), number);
}

#[test]
fn are_in_the_stream_of_all_threads() {
    const STRINGS: u64 = 1000;
    let run = child(
        "labels::are_in_the_stream_of_all_threads",
        |process| process,
        || {
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        for number in 0..STRINGS {
                            use_string((number * 7 + thread * 250) % STRINGS);
                        }
                    });
                }
            });
            telemetry::flush();
            let name = telemetry::intern!("string 0");
            telemetry::label(0x1000_usize, name);
            telemetry::label(std::ptr::null::<u8>(), Label::NONE);
            vec![("name", name.0)]
        },
    );
    let read = ReadLabels::read(run.path());
    assert_eq!(read.check(string) as u64, 4 * STRINGS);
    assert_eq!(read.strings.len() as u64, STRINGS);
    assert_eq!(read.addresses, [(0x1000, run.number("name").into())]);
    assert!(read.stream.completeness.is_complete(), "{}", read.stream.completeness);
}

/// Labels interned while nothing is on, and used later.
#[test]
fn are_known_of_before_anything_was_on() {
    let run = child(
        "labels::are_known_of_before_anything_was_on",
        |process| process.env("TELEMETRY_CONTROL", ""),
        || {
            let label = telemetry::intern("string 7");
            telemetry::label(7_usize, label);
            labeled::used!(label, 0);
            telemetry::set("Use");
            labeled::used!(label, 7);
            vec![]
        },
    );
    let read = ReadLabels::read(run.path());
    assert_eq!((read.check(string), read.addresses.len()), (1, 1));
}

/// A program that interns names for a day on which an event is switched on, leaves no file on all
/// others.
#[test]
fn alone_make_no_stream() {
    let run = child(
        "labels::alone_make_no_stream",
        |process| process,
        || {
            telemetry::label(7_usize, telemetry::intern("string 7"));
            telemetry::flush();
            vec![]
        },
    );
    assert!(!run.path().exists());
}

#[test]
fn are_switched_off_by_name() {
    for (words, strings) in [("all", 1), ("all -telemetry:Label", 0), ("all -all Use", 1)] {
        let run = child(
            "labels::are_switched_off_by_name",
            |process| process.env("TELEMETRY_CONTROL", words),
            || {
                use_string(7);
                vec![]
            },
        );
        let read = ReadLabels::read(run.path());
        assert_eq!((read.used.len(), read.strings.len()), (1, strings), "{words}");
    }
}

/// Strings longer than the limit, at which a character of two bytes would be cut.
#[test]
fn are_cut_at_a_border_and_counted() {
    let run = child(
        "labels::are_cut_at_a_border_and_counted",
        |process| process,
        || {
            let long = format!("a{}", "ä".repeat(5000));
            labeled::used!(telemetry::intern(&long), 0);
            vec![]
        },
    );
    let read = ReadLabels::read(run.path());
    read.check(|_| format!("a{}", "ä".repeat(2047)));
    assert_eq!(read.stream.completeness.lost().truncated, 1);
}

/// A sink that starts a new stream after every few blocks and keeps all of them in memory.
#[derive(Clone, Default)]
struct Segments(Arc<Mutex<Vec<Vec<u8>>>>);

impl Sink for Segments {
    fn begin(&mut self, _: usize) -> io::Result<Start> {
        self.0.lock().expect("no thread panics").push(vec![]);
        Ok(Start::New)
    }

    fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
        let mut segments = self.0.lock().expect("no thread panics");
        let last = segments.last_mut().expect("a segment has begun");
        blocks.iter().flatten().for_each(|bytes| last.extend_from_slice(bytes));
        Ok(())
    }
}

#[test]
fn begin_every_segment() {
    let run = child(
        "labels::begin_every_segment",
        |process| process.env("TELEMETRY_LATENCY", "3600"),
        || {
            let segments = Segments::default();
            telemetry::sinks::add(segments.clone()).unwrap();
            for number in 0..20 {
                // Each thread has its own block. A reader could not read a part that continues a
                // block of another segment.
                let thread = std::thread::spawn(move || use_string(number));
                thread.join().expect("a thread that only emits");
                telemetry::flush();
            }
            let segments = segments.0.lock().expect("no thread panics");
            for (number, segment) in segments.iter().enumerate() {
                std::fs::write(format!("segment{number}"), segment).expect("a writable directory");
            }
            std::fs::write("joined", segments.concat()).expect("a writable directory");
            vec![("segments", segments.len() as u64)]
        },
    );
    let mut used = vec![];
    for number in 0..run.number("segments") {
        let mut events = Reader::open(run.dir().join(format!("segment{number}")))
            .expect("a segment")
            .events()
            .expect("a segment");
        let (mut strings, mut latest) = (BTreeMap::new(), None);
        while let Some(event) = events.next().expect("a readable segment") {
            let label = event.value(0).and_then(|value| value.as_u64()).expect("a label");
            match event.value(1).expect("two values") {
                Value::String(text) => {
                    _ = strings.insert(label, String::from_utf8_lossy(text.0).into_owned())
                }
                number => latest = number.as_u64().map(|number| (label, number)),
            }
        }
        if let Some((label, number)) = latest {
            assert_eq!(strings[&label], string(number.into()));
            used.push(number);
            assert_eq!(strings.len(), used.len(), "all labels so far");
        }
    }
    assert!(used.into_iter().eq(0..20));
    // A reader of all segments drops the labels that each segment repeats.
    let mut events = Reader::open(run.dir().join("joined")).expect("a stream").events().expect("a stream");
    let mut counts = BTreeMap::new();
    while let Some(event) = events.next().expect("a readable stream") {
        *counts.entry(event.name().to_owned()).or_insert(0) += 1;
    }
    assert_eq!((counts["Intern"], counts["Used"]), (20, 20));
    let completeness = events.completeness();
    assert!(completeness.bytes.repeated > 0);
    assert_eq!(completeness.missing(), 0, "{completeness}");
}

/// A child has the labels of its parent, and both add their own. This is also so with a ring file,
/// which is the parent's memory.
#[test]
fn are_those_of_the_parent_in_a_child() {
    for ring in [None, Some("ring")] {
        let run = child(
            "labels::are_those_of_the_parent_in_a_child",
            |process| match ring {
                Some(name) => process.env("TELEMETRY_RING", name),
                None => process,
            },
            || {
                (0..5000).for_each(use_string);
                let status = system::fork(|| (4900..5100).for_each(use_string));
                assert!(status.success(), "{status}");
                (5099..5300).rev().for_each(use_string);
                vec![]
            },
        );
        let parent = ReadLabels::read(run.path());
        assert_eq!((parent.check(string), parent.strings.len()), (5201, 5201));
        let child = ReadLabels::read(run.path_of_child());
        assert_eq!((child.check(string), child.strings.len()), (200, 5100));
    }
}

/// Labels that a handler got, and calls that got none.
static HANDLED: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Interns a string that is usually new, without allocating.
extern "C" fn handler(_: std::ffi::c_int) {
    let number = HANDLED.fetch_add(1, Ordering::Relaxed) / 2;
    let mut text = *b"string 1000000";
    let mut rest = number;
    for byte in text[8..].iter_mut().rev() {
        *byte = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    match telemetry::intern(std::str::from_utf8(&text).unwrap_or_default()) {
        Label::NONE => _ = REFUSED.fetch_add(1, Ordering::Relaxed),
        label => labeled::used!(label, 1_000_000 + number),
    }
}

#[test]
fn are_interned_in_signal_handlers() {
    let run = child(
        "labels::are_interned_in_signal_handlers",
        |process| process.env("TELEMETRY_BUFFER", "64M"),
        || {
            use_string(0);
            system::on_signal(libc::SIGALRM, handler);
            let (alarm, since) = (Alarm::every(Duration::from_micros(50)), Instant::now());
            let mut number = 0;
            // Nearly all of this work happens under the lock.
            while HANDLED.load(Ordering::Relaxed) < 10_000 && since.elapsed() < Duration::from_secs(5) {
                number += 1;
                let _ = telemetry::intern(&string(number % 500_000));
            }
            drop(alarm);
            vec![
                ("handled", HANDLED.load(Ordering::Relaxed)),
                ("refused", REFUSED.load(Ordering::Relaxed)),
                ("strings", number.min(500_000) as u64),
            ]
        },
    );
    let [handled, refused] = ["handled", "refused"].map(|name| run.number(name));
    let read = ReadLabels::read(run.path());
    assert!(handled > 100, "{handled} signals are no storm");
    read.check(string);
    assert!(read.strings.len() as u64 >= run.number("strings"));
    // Handler events are also lost if they interrupt the drain's first use of a lane, which never
    // happens here.
    assert_eq!(read.used.len() as u64, 1 + handled - refused);
    assert_eq!(read.stream.completeness.lost().reentrant, refused);
}

/// Inside the program's allocator, and before `main`.
#[test]
fn are_interned_where_nothing_can_be_allocated() {
    let workspace = Workspace::new("interning", &["interning"]);
    workspace.package("interning", "2024", "telemetry-events.workspace = true");
    workspace.write("interning/labels.toml", include_str!("../registries/labels.toml"));
    workspace.write("interning/src/main.rs", include_str!("../programs/interning.rs"));
    workspace.build(&[]);
    let run = Process::new(workspace.program("interning")).run().succeeded();
    let read = ReadLabels::read(run.path());
    let labeled = run.number("labeled");
    assert!(labeled >= 400);
    assert_eq!(read.check(|_| "inside".into()) as u64, labeled);
    assert_eq!(read.addresses.len() as u64, labeled);
    let marked = read.strings.iter().find(|(_, text)| *text == "marked").expect("a string").0;
    assert!(read.addresses.iter().all(|(_, label)| label == marked));
    let mut strings: Vec<_> = read.strings.values().map(String::as_str).collect();
    strings.sort_unstable();
    assert_eq!(strings, ["early", "inside", "marked", "unmarked"]);
}

/// The macro accepts the runtime's own registry despite its reserved name; any other mistake shows
/// here.
#[test]
fn of_the_runtimes_registry_only_the_name_is_reserved() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("telemetry-runtime/telemetry.toml");
    let error = telemetry_schema::load(&path).expect_err("the name is reserved");
    let LoadCause::Invalid { invalid, .. } = error.cause else { panic!("{error}") };
    let messages: Vec<_> = invalid.diagnostics.iter().map(|diagnostic| &diagnostic.message).collect();
    assert_eq!(messages, ["the registry name `telemetry` is reserved"]);
}
