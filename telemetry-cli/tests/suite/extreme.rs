//! Streams that are extreme in one way, in all exporters: memory stays small, and nothing is lost.
#![cfg(target_os = "linux")]

use serde_json::Value as Json;
use telemetry_decode::writer::Lane;
use telemetry_decode::{RawStr, Value};

use crate::big::peak;
use crate::run::Folder;
use crate::spans::{JOB_BEGIN, PHASE_BEGIN, PHASE_END, REGISTRY};
use crate::streams::{begun, gc_registry, runtime_registry};

/// 19 November 2026.
const START: u64 = 1_795_000_000_000_000_000;

/// Commands that write files for viewers, compare runs, or show one.
const EXPORTERS: [&str; 8] = [
    "convert --to perfetto -o out FILE",
    "convert --to chrome -o out FILE",
    "convert --to ctf -d trace FILE",
    "flame -o out FILE",
    "flame --by event,thread -o out FILE",
    "diff --by event,thread -o out FILE FILE",
    "report --against FILE -o out.html FILE",
    "top --once FILE",
];

/// Runs all exporters. None takes more memory than this.
fn check(stream: &[u8], most_mib: usize) -> Folder {
    check_some(&EXPORTERS, stream, most_mib)
}

fn check_some(exporters: &[&str], stream: &[u8], most_mib: usize) -> Folder {
    let folder = Folder::new().with("extreme.tel", stream);
    for exporter in exporters {
        let args = exporter.replace("FILE", "extreme.tel");
        let peak = peak(&folder, &args);
        assert!(peak < most_mib << 10, "{args}: {peak} KiB");
    }
    folder
}

fn spans_registry() -> telemetry_schema::Registry {
    telemetry_schema::parse(REGISTRY).unwrap()
}

/// Returns the number of events and of spans that `flame` writes.
fn number(folder: &Folder, args: &str) -> u64 {
    let run = folder.run(args);
    assert_eq!(run.code, Some(0), "{args}: {}", run.stderr);
    let lines = String::from_utf8(run.stdout).unwrap();
    lines.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[test]
#[ignore = "it takes a minute; run `.ci/viewers`"]
fn ten_thousand_threads() {
    const THREADS: u32 = 10_000;
    let (mut writer, lane) = begun(7, START, "threads", &spans_registry());
    for round in 0..2_u64 {
        for thread in 1..=THREADS {
            let (lane, ns) = (Lane { thread, ..lane }, 1_000_000 * round + u64::from(thread));
            writer.event(lane, PHASE_BEGIN, ns, &[Value::Unsigned(round)]).unwrap();
            writer.event(lane, PHASE_END, ns + 100, &[]).unwrap();
        }
    }
    writer.end(7, 4_000_000).unwrap();
    let folder = check(&writer.finish().unwrap(), 112);
    // A file for each thread, and the description.
    let files = std::fs::read_dir(folder.path("trace")).unwrap().count();
    assert_eq!(files, THREADS as usize + 1);
    assert_eq!(number(&folder, "flame --per-thread extreme.tel"), 100 * 2 * u64::from(THREADS));
    assert_eq!(number(&folder, "flame --by event,thread extreme.tel"), 4 * u64::from(THREADS));
}

#[test]
#[ignore = "it takes a minute; run `.ci/viewers`"]
fn a_million_labels() {
    const LABELS: u64 = 1_000_000;
    let registry = "registry = { name = \"labels\", version = \"1.0.0\", doc = \"labels\" }
kinds.Use = { bit = 0, doc = \"uses\" }
[[event]]
name = \"Used\"
code = 1
kind = \"Use\"
doc = \"A label was used\"
params = [{ name = \"label\", sort = \"label\", doc = \"which\" }]
";
    let (mut writer, lane) = begun(7, START, "labels", &telemetry_schema::parse(registry).unwrap());
    let runtime = Lane { thread: 0, registry: writer.registry(7, &runtime_registry()).unwrap(), ..lane };
    for label in 1..=LABELS {
        let text = format!("label {label}");
        let values = [Value::Label(label), Value::String(RawStr(text.as_bytes()))];
        writer.event(runtime, 2, label, &values).unwrap();
        if label % 4 == 0 {
            writer.event(lane, 1, label, &[Value::Label(label)]).unwrap();
        }
    }
    writer.end(7, LABELS).unwrap();
    let folder = check(&writer.finish().unwrap(), 128);
    // More different frames than a graph has.
    assert_eq!(number(&folder, "flame --by label --event Used --threads 1 extreme.tel"), LABELS / 4);
}

#[test]
#[ignore = "it takes a minute; run `.ci/viewers`"]
fn spans_that_never_end() {
    const SPANS: u64 = 600_000;
    let (mut writer, lane) = begun(7, START, "spans", &spans_registry());
    for span in 1..=SPANS {
        writer.event(lane, JOB_BEGIN, span, &[Value::Pointer(span)]).unwrap();
    }
    writer.end(7, SPANS).unwrap();
    let folder = check(&writer.finish().unwrap(), 240);
    let run = folder.run("flame extreme.tel");
    assert!(run.stderr.contains("not in the graph: 600,000 unended spans"), "{}", run.stderr);
}

#[test]
#[ignore = "it takes a minute; run `.ci/viewers`"]
fn events_of_a_megabyte() {
    const EVENTS: u64 = 100;
    let (writer, lane) = begun(7, START, "large", &gc_registry());
    // Strings of other systems have any length.
    let mut writer = writer.long_runs();
    let text = "x".repeat(1 << 20);
    for number in 0..EVENTS {
        let lane = Lane { thread: 1 + (number % 4) as u32, ..lane };
        writer.event(lane, 0xffff, number, &[Value::String(RawStr(text.as_bytes()))]).unwrap();
    }
    writer.end(7, EVENTS).unwrap();
    let folder = check(&writer.finish().unwrap(), 40);
    assert_eq!(number(&folder, "flame --by text extreme.tel"), EVENTS);
    let files = std::fs::read_dir(folder.path("trace")).unwrap();
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes > EVENTS << 20, "{bytes}");
}

/// Each of several sessions has a track for each of its counters.
#[test]
#[ignore = "it takes a minute; run `.ci/viewers`"]
fn thousands_of_counters() {
    const TYPES: u16 = 100;
    const COUNTERS: u64 = 60;
    const SESSIONS: u64 = 4;
    const ROUNDS: u64 = 20;
    let params: Vec<_> = (0..COUNTERS)
        .map(|number| format!("{{ name = \"counter_{number}\", sort = \"u64\", counter = true }}"))
        .collect();
    let mut registry = "registry = { name = \"meters\", version = \"1.0.0\", doc = \"meters\" }
kinds.Meter = { bit = 0, doc = \"readings\" }\n"
        .to_string();
    for code in 0..TYPES {
        registry += &format!(
            "[[event]]\nname = \"Read{code}\"\ncode = {code}\nkind = \"Meter\"\ndoc = \"Meters\"\nparams = [{}]\n",
            params.join(", ")
        );
    }
    let registry = telemetry_schema::parse(&registry).unwrap();
    let mut stream = Vec::new();
    for session in 1..=SESSIONS {
        let (mut writer, lane) = begun(session, START + session, "meters", &registry);
        for number in 0..ROUNDS * u64::from(TYPES) {
            let values = vec![Value::Unsigned(number); COUNTERS as usize];
            writer.event(lane, (number % u64::from(TYPES)) as u16, 1000 * number, &values).unwrap();
        }
        writer.end(session, 1000 * ROUNDS * u64::from(TYPES)).unwrap();
        stream.extend(writer.finish().unwrap());
    }
    let folder = check_some(&EXPORTERS[..3], &stream, 64);
    assert_eq!(folder.run("convert -o trace.json extreme.tel").code, Some(0));
    let trace = String::from_utf8(std::fs::read(folder.path("trace.json")).unwrap()).unwrap();
    let readings = trace.lines().filter(|line| line.starts_with("{\"ph\":\"C\"")).count() as u64;
    assert_eq!(readings, SESSIONS * ROUNDS * u64::from(TYPES) * COUNTERS);
}

/// Two hosts whose clocks differ by five hours: each keeps its own time.
#[test]
#[ignore = "it takes a minute; run `.ci/viewers`"]
fn clocks_that_differ_by_hours() {
    const HOURS_NS: u64 = 5 * 3_600_000_000_000;
    const EVENTS: u64 = 30_000;
    let mut streams = Vec::new();
    // The later one comes first in the file.
    for (session, start) in [(1, START + HOURS_NS), (2, START)] {
        let (mut writer, lane) = begun(session, start, "host", &gc_registry());
        let text = "x".repeat(500);
        for number in 0..EVENTS {
            let lane = Lane { thread: 1 + (number % 4) as u32, ..lane };
            writer.event(lane, 0xffff, 1000 * number, &[Value::String(RawStr(text.as_bytes()))]).unwrap();
        }
        writer.end(session, 1000 * EVENTS).unwrap();
        streams.extend(writer.finish().unwrap());
    }
    let folder = check(&streams, 28);
    let trace: Json = serde_json::from_slice(&{
        assert_eq!(folder.run("convert -o trace.json extreme.tel").code, Some(0));
        std::fs::read(folder.path("trace.json")).unwrap()
    })
    .unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let times: Vec<f64> = events.iter().filter_map(|event| event["ts"].as_f64()).collect();
    let last = (HOURS_NS + 1000 * (EVENTS - 1)) as f64 / 1000.0;
    assert_eq!(times.len() as u64, 2 * EVENTS);
    assert!(times.is_sorted());
    assert_eq!((times[0], times[times.len() - 1]), (0.0, last));
}
