//! Streams of other programs as eventlogs.

use std::process::Command;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Reader, Value};
use telemetry_foreign::ghc::write;

use super::{assert_same, shown};

const REGISTRY: &str = r#"
[registry]
name = "demo"
version = { major = 1, median = 0, minor = 0 }
doc = "A demonstration"

[kinds]
Work = { bit = 0, doc = "work" }

[[event]]
name = "Step"
code = 1
kind = "Work"
doc = "A step"
params = [
  { name = "size", sort = "word", doc = "how far" },
  { name = "text", sort = "string", max = 99, doc = "what" },
]

[[event]]
name = "TraceStart"
code = 2
kind = "Work"
doc = "A trace began"
params = [{ name = "trace", sort = "pointer", doc = "which" }]

[[event]]
name = "TraceEnd"
code = 3
kind = "Work"
doc = "A trace ended"
params = [{ name = "trace", sort = "pointer", doc = "which" }]

[[event]]
name = "CollectBegin"
code = 4
kind = "Work"
doc = "A collection began"

[[event]]
name = "CollectEnd"
code = 5
kind = "Work"
doc = "A collection ended"

[[span]]
name = "Collection"
begin = "CollectBegin"
end = "CollectEnd"
doc = "A collection"

[[span]]
name = "Trace"
begin = "TraceStart"
end = "TraceEnd"
key = "trace"
doc = "A trace"
"#;

fn stream() -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY)
        .unwrap_or_else(|invalid| panic!("{}", invalid.render("demo", REGISTRY)));
    let mut facts = Facts::default();
    facts.set("program", "demo");
    facts.set("clock", "os");
    facts.set("pid", 77);
    let mut writer = Writer::new(Vec::new());
    writer.session(5, &facts, 1000, 1_700_000_000_000_000_000).expect("a session");
    let mut name = Facts::default();
    name.set("name", "main");
    writer.thread(5, 1, &name).expect("a thread");
    let registry = writer.registry(5, &registry).expect("a registry");
    let lane = |thread| Lane { session: 5, thread, registry };
    let trace = [Value::Pointer(0x7f00)];
    writer.event(lane(1), 2, 1010, &trace).expect("an event");
    writer.event(lane(1), 4, 1020, &[]).expect("an event");
    writer.event(lane(2), 2, 1025, &[Value::Pointer(0x7f10)]).expect("an event");
    let step = [Value::Word(3), Value::String("héllo".into())];
    writer.event(lane(2), 1, 1028, &step).expect("an event");
    writer.event(lane(1), 5, 1030, &[]).expect("an event");
    writer.event(lane(1), 3, 1040, &trace).expect("an event");
    writer.end(5, 1050).expect("an end");
    writer.finish().expect("memory takes it")
}

fn as_log(stream: &[u8]) -> Vec<u8> {
    let mut events = Reader::from_slice(stream).events().expect("a stream");
    let mut log = Vec::new();
    let written = write(&mut events, &mut log).expect("memory takes it");
    assert_eq!(written.events, 6);
    assert!(written.left_out.is_empty(), "{written:?}");
    log
}

const SHOWN: &str = "
Events:
10: event block: cap 65535, end time: 25

10: created capset 0 of type CapsetOsProcess
10: capset 0: RTS version \"telemetry\"
10: capset 0: pid 77
10: capset 0: args: [\"demo\"]
10: capset 0: wall clock time 1700000000s 10ns (unix epoch)
10: created cap 0
10: assigned cap 0 to capset 0
10: cap 0: event block: cap 0, end time: 40

10: cap 0: creating thread 1
10: cap 0: thread 1 has label \"main\"
10: cap 0: running thread 1
10: cap 0: marker: begin Trace: TraceStart trace:0x7f00
20: cap 0: starting GC
20: cap 0: marker: begin Collection: CollectBegin
25: created cap 1
25: assigned cap 1 to capset 0
25: cap 1: event block: cap 1, end time: 40

25: cap 1: creating thread 2
25: cap 1: thread 2 has label \"#2\"
25: cap 1: running thread 2
25: cap 1: marker: begin Trace: TraceStart trace:0x7f10
28: cap 1: Step size:3 text:héllo
30: cap 0: marker: end Collection: CollectEnd
30: cap 0: finished GC
40: cap 0: marker: end Trace: TraceEnd trace:0x7f00
40: cap 0: stopping thread 1 (thread finished)
40: cap 1: stopping thread 2 (thread finished)

";

#[test]
fn streams_are_shown_as_messages_and_markers() {
    let log = as_log(&stream());
    let (text, completeness) = shown(&log);
    assert!(completeness.is_complete(), "{completeness:?}");
    let events = text.find("\nEvents").expect("events");
    assert_same(&text[events..], SHOWN, "demo");
}

#[test]
fn ghc_events_takes_what_is_written() {
    if Command::new("ghc-events").arg("--help").output().is_err() {
        eprintln!("SKIPPED: ghc-events is not here; help: Debian has it in libghc-ghc-events-dev");
        return;
    }
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    for (what, log) in [
        ("demo", as_log(&stream())),
        ("small", super::round_trip::written(&super::made::small().end()).0),
        ("odd types", super::round_trip::written(&super::made::odd_types().end()).0),
    ] {
        std::fs::write(file.path(), &log).expect("room for a small log");
        let output = Command::new("ghc-events")
            .arg("show")
            .arg(file.path())
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{what}: {stderr}");
        let found = String::from_utf8(output.stdout).expect("text");
        // Older versions do not show where blocks begin, and do not know how large stacks were.
        let expected = shown(&log).0;
        let mut lines: Vec<&str> = expected.split('\n').collect();
        while let Some(at) = lines.iter().position(|line| line.contains("event block: cap")) {
            lines.drain(at..at + 2);
        }
        let plain = |text: &str| {
            text.split(", size ")
                .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()))
                .collect::<String>()
        };
        assert_same(&plain(&found), &plain(&lines.join("\n")), what);
    }
}
