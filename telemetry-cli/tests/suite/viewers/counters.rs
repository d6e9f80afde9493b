//! Counters in traces: each value of a parameter with the mark `counter`, at its time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value as Json;
use telemetry_decode::Value;
use telemetry_decode::writer::Lane;
use telemetry_foreign::known_registry;
use telemetry_schema::Registry;
use telemetry_testing::reference;

use super::expected::nanoseconds;
use super::trace_processor::{folder, query};
use crate::run::Folder;
use crate::streams::begun;

const REGISTRY: &str = r#"
[registry]
name = "meters"
version = "1.0.0"
doc = "Counters of all types"

[kinds]
Meter = { bit = 0, doc = "readings" }

[[event]]
name = "Sized"
code = 1
kind = "Meter"
doc = "The heap has this size"
params = [
  { name = "heap", sort = "word", unit = "bytes", counter = true },
  { name = "freed", sort = "word", unit = "bytes" },
  { name = "age", sort = "u64", unit = "ns", counter = true },
]

[[event]]
name = "Read"
code = 2
kind = "Meter"
doc = "All meters were read"
params = [
  { name = "small", sort = "i8", counter = true },
  { name = "below", sort = "i64", counter = true },
  { name = "load", sort = "f32", unit = "%", counter = true },
  { name = "heat", sort = "f64", unit = "°C", counter = true },
]

[[event]]
name = "Begun"
code = 3
kind = "Meter"
doc = "A request began"
params = [{ name = "open", sort = "u32", unit = "requests", counter = true }]

[[event]]
name = "Ended"
code = 4
kind = "Meter"
doc = "A request ended"
params = [{ name = "open", sort = "u32", unit = "requests", counter = true }]

[[span]]
name = "Request"
begin = "Begun"
end = "Ended"
doc = "A request"
"#;

/// 2026-11-19 10:13:20 UTC.
const START: u64 = 1_795_083_200_000_000_000;

/// Programs of the sessions.
const PROGRAMS: [&str; 2] = ["first", "second"];

/// Makes two sessions of two threads, which share counters. The second one has another registry
/// with an event of the same name.
pub(super) fn stream() -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let other = REGISTRY.replacen("\"meters\"", "\"others\"", 1);
    let other = telemetry_schema::parse(&other).unwrap();
    let mut all = Vec::new();
    for (session, program) in (1..).zip(PROGRAMS) {
        let (mut writer, lane) = begun(session, START + session, program, &registry);
        let other = match session {
            1 => lane,
            _ => Lane { registry: writer.registry(session, &other).unwrap(), ..lane },
        };
        let sizes = [0, 4096, (1 << 53) - 1, u64::MAX, 1 << 63, 7];
        let heats = [0.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -40.25, 1e300];
        for (at, (size, heat)) in (0..).zip(sizes.into_iter().zip(heats)) {
            let on = |thread| Lane { thread, ..lane };
            let mut write = |lane, code, ns, values: &[Value<'_>]| {
                writer.event(lane, code, 1000 * at + ns, values).unwrap();
            };
            write(on(1), 1, 0, &[Value::Word(size), Value::Word(1), Value::Unsigned(at)]);
            write(on(2), 3, 10, &[Value::Unsigned(at + 1)]);
            let (small, below) = (Value::Signed(at as i64 - 3), Value::Signed(i64::MIN + at as i64));
            write(on(2), 2, 20, &[small, below, Value::F32(at as f32 / 4.0), Value::F64(heat)]);
            write(on(2), 4, 30, &[Value::Unsigned(at)]);
            write(Lane { thread: 3, ..other }, 1, 40, &[Value::Word(5), Value::Word(1), Value::Unsigned(at)]);
        }
        writer.end(session, 10_000).unwrap();
        all.extend(writer.finish().unwrap());
    }
    all
}

/// Values of a counter by time.
type Readings = BTreeMap<(String, String), Vec<(i64, f64)>>;

/// Returns the values of all counters by program and name, from `telemetry print`.
fn expected(folder: &Folder, registry: &Registry, program: impl Fn(&Json) -> String) -> Readings {
    let mut all = Readings::new();
    for line in String::from_utf8(folder.run("print --json stream").stdout).unwrap().lines() {
        let event: Json = serde_json::from_str(line).unwrap();
        let schema = registry.events.iter().find(|schema| event["event"] == schema.name.as_str());
        let Some(schema) = schema else { continue };
        let time = nanoseconds(event["time"].as_str().unwrap());
        let before = if event["registry"] == "others" { "others:" } else { "" };
        for param in schema.params.iter().filter(|param| param.is_counter) {
            let name = format!("{before}{}.{}", schema.name, param.name);
            let of = all.entry((program(&event), name)).or_default();
            of.extend(event["params"][&param.name].as_f64().map(|value| (time, value)));
        }
    }
    all
}

/// Returns the same of the two sessions.
fn expected_of_sessions(folder: &Folder) -> Readings {
    expected(folder, &telemetry_schema::parse(REGISTRY).unwrap(), |event| {
        let session = usize::from_str_radix(event["session"].as_str().unwrap(), 16).unwrap();
        PROGRAMS[session - 1].to_string()
    })
}

fn check(name: &str, found: &Readings, expected: &Readings) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{name}");
    for (counter, values) in expected {
        assert_eq!(&found[counter], values, "{name}: {counter:?}");
    }
}

/// `stats` has as many values of each parameter, with the same least and largest ones.
fn check_stats(folder: &Folder, found: &Readings) {
    let stats: Json = serde_json::from_slice(&folder.run("stats --json stream").stdout).unwrap();
    let mut compared = 0;
    for event in stats["events"].as_array().unwrap() {
        for param in event["params"].as_array().unwrap() {
            let distribution = &param["distribution"];
            // Floats that are not finite are in no trace.
            let (Some(min), Some(max)) = (distribution["min"].as_f64(), distribution["max"].as_f64()) else {
                continue;
            };
            let before = if event["registry"] == "others" { "others:" } else { "" };
            let [of, param] = [&event["event"], &param["param"]].map(|name| name.as_str().unwrap());
            let name = format!("{before}{of}.{param}");
            let values: Vec<f64> = found
                .iter()
                .filter(|((_, counter), _)| *counter == name)
                .flat_map(|(_, values)| values.iter().map(|(_, value)| *value))
                .collect();
            if param == "freed" {
                assert_eq!(values, [0.0; 0], "{name}");
                continue;
            }
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(
                (values.len() as u64, least, most),
                (distribution["count"].as_u64().unwrap(), min, max),
                "{name}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 9);
}

/// Converts the stream to Chrome's JSON. Returns its counters, and the number of its other events.
fn chrome(folder: &Folder) -> (Readings, u64) {
    assert_eq!(folder.run("convert -o trace.json stream").code, Some(0));
    let trace: Json = serde_json::from_slice(&std::fs::read(folder.path("trace.json")).unwrap()).unwrap();
    let start: i64 = trace["otherData"]["start_ns"].as_str().unwrap().parse().unwrap();
    let (mut programs, mut found, mut others) = (BTreeMap::new(), Readings::new(), 0);
    for event in trace["traceEvents"].as_array().unwrap() {
        let name = event["name"].as_str().unwrap().to_string();
        match event["ph"].as_str().unwrap() {
            "M" if name == "process_name" => {
                programs.insert(event["pid"].as_u64(), event["args"]["name"].as_str().unwrap().to_string());
            }
            "C" => {
                let program = programs[&event["pid"].as_u64()].clone();
                let time = start + (event["ts"].as_f64().unwrap() * 1000.0).round() as i64;
                let value = event["args"]["value"].as_f64().unwrap();
                found.entry((program, name)).or_default().push((time, value));
            }
            "i" | "B" | "E" => others += 1,
            _ => {}
        }
    }
    (found, others)
}

/// Converts the stream to a file, and returns the counters that Perfetto sees in it.
fn perfetto(engine: &Path, folder: &Folder, file: &str, start: i64) -> Readings {
    const COUNTERS: &str = "SELECT process.name AS program, counter_track.name, ts, value, unit \
        FROM counter JOIN process_counter_track AS counter_track ON track_id = counter_track.id \
        JOIN process USING (upid) ORDER BY ts, counter.id";
    assert_eq!(folder.run(&format!("convert -o {file} stream")).code, Some(0));
    let mut found = Readings::new();
    for row in query(engine, &folder.path(file), &[COUNTERS]) {
        let time = row["ts"].as_i64().or_else(|| row["ts"].as_str()?.parse().ok()).unwrap() + start;
        let name = row["name"].as_str().unwrap().trim_end_matches(" value").to_string();
        let program = row["program"].as_str().unwrap().to_string();
        found.entry((program, name)).or_default().push((time, row["value"].as_f64().unwrap()));
    }
    found
}

#[test]
fn chromes_counters_have_the_values_of_the_events() {
    let folder = Folder::new().with("stream", stream());
    let (found, others) = chrome(&folder);
    check("trace.json", &found, &expected_of_sessions(&folder));
    check_stats(&folder, &found);
    let stats = folder.run("stats --json stream").stdout;
    assert_eq!(serde_json::from_slice::<Json>(&stats).unwrap()["count"], others);
}

#[test]
fn perfetto_sees_counters_with_the_values_of_the_events() {
    let Some(engine) = folder() else { return };
    let folder = Folder::new().with("stream", stream());
    let expected = expected_of_sessions(&folder);
    for (file, start) in [("trace.pftrace", 0), ("trace.json", (START + 1) as i64)] {
        let found = perfetto(&engine, &folder, file, start);
        check(file, &found, &expected);
        check_stats(&folder, &found);
    }
}

/// Mono's performance counters, whose events have changes, have the values that `mono-report`
/// prints, the last ones: in a trace and in `stats`.
#[test]
fn counters_of_mono_have_the_values_of_the_report() {
    let real = reference::folder("mono").into_iter().flat_map(|folder| {
        ["v17-small-heapshot.mlpd", "v17-small-alloc.mlpd"]
            .into_iter()
            .filter_map(move |log| reference::read(&folder.join(log)))
    });
    let mut compared = 0;
    for log in [telemetry_testing::mono::seventeen()].into_iter().chain(real) {
        let folder = Folder::new().with("stream", log);
        let (found, _) = chrome(&folder);
        let stats = counters_in_stats(&folder);
        let report = folder.run("mono-report --verbose stream").stdout;
        let reported = telemetry_testing::mono::reported_counters(&String::from_utf8(report).unwrap());
        for counter in &reported {
            let name = &counter.name;
            let values = found.iter().find(|((_, of), _)| of == name).unwrap().1;
            let last = values.last().unwrap().1;
            assert!(counter.shows(last), "{name}: {last}");
            let of = &stats[name];
            let number = |member: &str| of[member].as_f64().unwrap();
            let floats = || values.iter().map(|(_, value)| *value);
            let (least, most) = (floats().fold(f64::MAX, f64::min), floats().fold(f64::MIN, f64::max));
            let expected = (values.len() as f64, values[0].1, last, least, most);
            let found = (number("count"), number("first"), number("last"), number("min"), number("max"));
            assert_eq!(found, expected, "{name}");
        }
        compared += reported.len();
    }
    assert!(compared >= 2);
}

/// Returns the counters that `stats` shows, by name. From a pipe they are the same.
fn counters_in_stats(folder: &Folder) -> BTreeMap<String, Json> {
    let stats: Json = serde_json::from_slice(&folder.run("stats --json stream").stdout).unwrap();
    let log = std::fs::read(folder.path("stream")).unwrap();
    let piped: Json = serde_json::from_slice(&folder.run_on("stats --json -", &log).stdout).unwrap();
    crate::json::check_stats(&stats);
    assert_eq!(stats["counters"], piped["counters"]);
    let text = String::from_utf8(folder.run("stats stream").stdout).unwrap();
    let counters = stats["counters"].as_array().unwrap().iter();
    let named = counters.map(|counter| (counter["counter"].as_str().unwrap().to_string(), counter.clone()));
    let named: BTreeMap<_, _> = named.collect();
    assert!(named.keys().all(|name| text.contains(&format!("\n{name} "))), "{text}");
    // No sum is known if a filter excludes changes.
    let filtered = folder.run("stats --json --from 1ns stream").stdout;
    assert_eq!(serde_json::from_slice::<Json>(&filtered).unwrap().get("counters"), None);
    named
}

/// The sizes of heaps in logs of GHC and Mono are counters.
#[test]
fn counters_of_logs_have_the_values_of_the_events() {
    for (system, log, counters) in [
        ("ghc", "small-time-prof.eventlog", &["HeapLive.bytes", "HeapSize.bytes"][..]),
        ("mono", "v17-small-alloc.mlpd", &["GcResize.size"]),
    ] {
        let bytes = reference::folder(system).and_then(|folder| reference::read(&folder.join(log)));
        let Some(bytes) = bytes else { continue };
        let stream = Folder::new().with("stream", bytes);
        let (found, _) = chrome(&stream);
        let programs: BTreeSet<_> = found.keys().map(|(program, _)| program.clone()).collect();
        assert_eq!(programs.len(), 1, "{log}: {programs:?}");
        let program = programs.first().unwrap();
        // Mono's performance counters, of which another test is, have a colon in their names.
        let is_param = |(_, name): &(String, String)| !name.contains(": ");
        let found: Readings = found.into_iter().filter(|(of, _)| is_param(of)).collect();
        let names: Vec<_> = found.keys().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, counters, "{log}");
        let expected = expected(&stream, &known_registry(system).unwrap(), |_| program.clone());
        check(log, &found, &expected);
        if let Some(engine) = folder() {
            let seen = perfetto(&engine, &stream, "trace.pftrace", 0);
            check(log, &seen.into_iter().filter(|(of, _)| is_param(of)).collect(), &expected);
        }
    }
}
