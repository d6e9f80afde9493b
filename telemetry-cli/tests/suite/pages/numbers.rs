//! The numbers of the document are those of `stats` and `spans`, however they are divided.

use serde_json::Value as Json;

use super::Page;
use crate::run::{Folder, run};
use crate::streams::{START, begun, failed, gc, gc_registry, labeled, lossy, marked, two_registries};

/// Checks the report of a stream against `stats --json` and `spans --json`.
#[track_caller]
fn check(name: &str, stream: &[u8]) -> Page {
    let folder = Folder::new().with("run.tel", stream);
    let json = |args: &str| -> Json { serde_json::from_slice(&folder.run(args).stdout).unwrap() };
    let (stats, spans) = (json("stats --json run.tel"), json("spans --json --limit 100 run.tel"));
    let page = Page::of(stream);
    let document = &page.document;
    for member in ["count", "bytes", "first_ns", "last_ns"] {
        assert_eq!(exact(&document["stats"][member]), exact(&stats[member]), "{name}: {member}");
    }
    for (list, members) in [
        ("events", &["event", "count", "bytes", "first_ns", "last_ns", "intervals_ns"][..]),
        ("kinds", &["kind", "count", "bytes"]),
        ("threads", &["thread", "name", "count"]),
    ] {
        let (found, expected) = (&document["stats"][list], &stats[list]);
        assert_eq!(len(found), len(expected), "{name}: {list}");
        for (found, expected) in list_of(found).iter().zip(list_of(expected)) {
            for member in members {
                assert_eq!(exact(&found[member]), exact(&expected[member]), "{name}: {list} {member}");
            }
        }
    }
    for member in ["spans", "longest", "unmatched_count"] {
        assert_eq!(document["paired"][member], spans[member], "{name}: {member}");
    }
    // The same events, counted by interval, by thread, and by the sample.
    let count = stats["count"].as_u64().unwrap();
    let rate = list_of(&document["rate"]["series"]).iter().map(|series| sum(&series["counts"]));
    assert_eq!(rate.sum::<u64>(), count, "{name}: rate");
    assert_eq!(total(document, "threads", "events"), count, "{name}: threads");
    assert_eq!(total(document, "sample", "total"), count, "{name}: sample");
    let rows: u64 = list_of(&document["sample"]).iter().map(|sample| len(&sample["rows"]) as u64).sum();
    assert_eq!(rows, count, "{name}: a short recording is in the sample whole");
    // The same spans, in lanes and by duration.
    let paired: u64 =
        list_of(&spans["spans"]).iter().map(|span| span["duration_ns"]["count"].as_u64().unwrap()).sum();
    assert_eq!(total(document, "lanes", "total"), paired, "{name}: lanes");
    let columns =
        |heat: &Json| list_of(&heat["columns"]).iter().map(|column| sum(&column["counts"])).sum::<u64>();
    let durations = list_of(&document["durations"]).iter().map(|heat| columns(&heat["duration"]));
    assert_eq!(durations.sum::<u64>(), paired, "{name}: durations");
    // The same values.
    for (number, event) in list_of(&document["events"]).iter().enumerate() {
        let of_event = list_of(&stats["events"]);
        let is_of_event = |of: &&Json| ["fingerprint", "code"].iter().all(|key| of[key] == event[key]);
        let of_event = of_event.iter().find(is_of_event).unwrap();
        assert_eq!(of_event["event"], event["name"], "{name}");
        for (index, param) in list_of(&of_event["params"]).iter().enumerate() {
            let heats = list_of(&document["values"]).iter();
            let heats = heats.filter(|heat| heat["event"] == number && heat["param"] == index);
            let found: u64 = heats.map(|heat| columns(&heat["heat"])).sum();
            let expected = param["distribution"]["count"].as_u64().unwrap_or(0);
            assert_eq!(found, expected, "{name}: {} {}", event["name"], param["param"]);
        }
    }
    page
}

/// A condition with fields of spans selects the spans of the report, and keeps all events.
#[test]
fn spans_of_a_condition() {
    let folder = Folder::new().with("run.tel", crate::spans::stream());
    let condition = ["--where", "span == Phase and duration > 20"];
    let spans = run(folder.command("spans --json --limit 100 run.tel").args(condition), &[]);
    let spans: Json = serde_json::from_slice(&spans.stdout).unwrap();
    let report = run(folder.command("report run.tel -o page.html").args(condition), &[]);
    let page = Page::read(&folder.path("page.html"), report);
    for member in ["spans", "longest", "unmatched_count"] {
        assert_eq!(page.document["paired"][member], spans[member], "{member}");
    }
    assert_eq!(total(&page.document, "lanes", "total"), 2);
    let stats: Json = serde_json::from_slice(&folder.run("stats --json run.tel").stdout).unwrap();
    assert_eq!(exact(&page.document["stats"]["count"]), exact(&stats["count"]));
}

#[test]
fn samples_by_span_are_those_of_stats() {
    let stream = crate::spans::sampled();
    let folder = Folder::new().with("run.tel", &stream);
    let stats: Json = serde_json::from_slice(&folder.run("stats --samples --json run.tel").stdout).unwrap();
    let found = &Page::of(&stream).document["sampled"];
    assert!(list_of(&found["spans"]).len() >= 3, "{found}");
    for member in ["samples", "periods", "spans"] {
        assert_eq!(found[member], stats[member]);
    }
    assert_eq!(Page::of(&gc()).document["sampled"], Json::Null);
}

/// Writes numbers as text, as the document has large ones.
pub(super) fn exact(value: &Json) -> Json {
    match value {
        Json::Number(number) => Json::from(number.to_string()),
        Json::Object(members) => members.iter().map(|(name, value)| (name.clone(), exact(value))).collect(),
        value => value.clone(),
    }
}

pub(super) fn list_of(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn len(value: &Json) -> usize {
    list_of(value).len()
}

fn sum(value: &Json) -> u64 {
    list_of(value).iter().map(|count| count.as_u64().unwrap()).sum()
}

fn total(document: &Json, list: &str, member: &str) -> u64 {
    list_of(&document[list]).iter().map(|one| one[member].as_u64().unwrap()).sum()
}

#[test]
fn numbers_are_those_of_stats_and_spans() {
    for (name, stream) in [
        ("gc", gc()),
        ("spans", crate::spans::stream()),
        ("lossy", lossy()),
        ("labeled", labeled()),
        ("two registries", two_registries()),
        ("two versions", crate::spans::two_versions()),
        ("replay", crate::replay::sound()),
        ("eventlog", crate::ghc::profile()),
    ] {
        check(name, &stream);
    }
}

/// What has one name in two versions of a registry is told apart.
#[test]
fn versions_of_a_registry_have_names() {
    let page = check("two versions", &crate::spans::two_versions());
    for list in ["kinds", "events", "spans"] {
        let names =
            list_of(&page.document[list]).iter().map(|of| [of["registry"].clone(), of["name"].clone()]);
        let mut names: Vec<_> = names.map(|name| Json::from(name.to_vec()).to_string()).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "{list}: {names:?}");
    }
    assert_eq!(page.document["spans"][1]["registry"], "spans 1.0.10");
}

#[test]
fn values_and_times_are_in_the_sample() {
    let page = check("gc", &gc());
    let document = &page.document;
    assert_eq!(document["origin"], START.to_string());
    let number = list_of(&document["events"])
        .iter()
        .position(|event| event["params"][0]["type"] == "pointer")
        .unwrap();
    let event = &document["events"][number];
    let sample = list_of(&document["sample"]).iter().find(|sample| sample["event"] == number).unwrap();
    assert_eq!((&sample["every"], &sample["total"]), (&Json::from(1), &Json::from(len(&sample["rows"]))));
    // Time, thread, and a value for each parameter.
    for row in list_of(&sample["rows"]) {
        assert_eq!(len(row), 2 + len(&event["params"]), "{row}");
        assert_eq!(row[2].as_str().map(|address| address.starts_with("0x")), Some(true), "{row}");
    }
}

#[test]
fn losses_have_time_thread_kind_and_cause() {
    let page = check("lossy", &lossy());
    let document = &page.document;
    let losses = list_of(&document["losses"]);
    assert_eq!(losses.len(), 1, "{losses:?}");
    let loss = &losses[0];
    assert_eq!(loss["events"], 1230);
    assert_eq!(loss["cause"], "1,200 pool full, 30 reentrant");
    assert_eq!(document["threads"][loss["thread"].as_u64().unwrap() as usize]["thread"], 9);
    assert!(loss["from"].as_i64() <= loss["until"].as_i64(), "{loss}");
    let frame = page.frame();
    assert!(frame.contains("<header id=\"verdict\" class=\"incomplete\">"), "{frame}");
    assert!(frame.contains("1,230 lost in the program"), "{frame}");
    // Control characters of the program's name are shown as numbers.
    assert!(frame.contains("<title>lossy\\u{1b}[1m</title>"), "{frame}");
}

#[test]
fn sessions_have_ends() {
    let document = Page::of(&failed()).document;
    let found: Vec<_> = list_of(&document["sessions"]).iter().map(|session| &session["endings"]).collect();
    let of_first = serde_json::json!([
        ["panic", "no such key\n, at src/cache.rs:7, in thread 2, the last of 2"],
        ["signal", "SIGSEGV at 0x10, code 1, in thread 2"],
        ["exit code", "101"]
    ]);
    assert_eq!(found, [&of_first, &serde_json::json!([])]);
}

#[test]
fn marks_have_time_thread_and_text() {
    let document = Page::of(&marked()).document;
    let found: Vec<_> = list_of(&document["marks"])
        .iter()
        .map(|mark| {
            let thread = &document["threads"][mark["thread"].as_u64().unwrap() as usize]["name"];
            (mark["at"].as_u64().unwrap(), thread.as_str().unwrap(), mark["text"].as_str().unwrap())
        })
        .collect();
    // The first event is at 5 ns.
    assert_eq!(
        found,
        [(10, "main", "warm-up done"), (895, "telemetry-ctl", "deploy 17"), (2_595, "main", "")]
    );
    assert_eq!(document["more_marks"], 0);
}

#[test]
fn memory_is_that_of_the_replayer() {
    let folder = Folder::new().with("run.tel", crate::replay::sound());
    let replayed: Json =
        serde_json::from_slice(&folder.run("replay --dry-run --json run.tel").stdout).unwrap();
    let page = check("replay", &crate::replay::sound());
    let memory = &page.document["memory"];
    let peak = list_of(&memory["peak_bytes"]).iter().filter_map(Json::as_u64).max();
    let recording = &replayed["recording"];
    assert_eq!(peak, recording["peak_bytes"].as_u64(), "{replayed}");
    assert_eq!(memory["frees"], recording["frees"]);
    assert_eq!(list_of(&memory["live_bytes"]).last(), Some(&recording["live_bytes"]));
    // At most one event is in each interval, and most have none.
    let live: Vec<_> = list_of(&memory["live_bytes"]).iter().map(|live| live.as_u64().unwrap()).collect();
    let most = live.iter().enumerate().map(|(at, live_at)| *live_at.max(&live[at.saturating_sub(1)]));
    assert_eq!(memory["peak_bytes"], Json::from(most.collect::<Vec<_>>()));
    let classes = list_of(&memory["classes"]).iter().map(|class| class["allocated_bytes"].as_u64().unwrap());
    assert_eq!(classes.sum::<u64>(), sum(&memory["allocated_bytes"]));
    let live = recording["live_bytes"].as_u64().unwrap();
    assert_eq!(sum(&memory["freed_bytes"]) + live, sum(&memory["allocated_bytes"]));
}

/// Times far apart, before the session's start, and equal ones.
#[test]
fn every_time_fits_on_the_axis() {
    const YEAR: u64 = 365 * 24 * 3_600_000_000_000;
    for times in [&[5, 5, 5][..], &[0, 1, 100 * YEAR], &[YEAR, YEAR + 1], &[0, 63, 64, 65_535, 65_536]] {
        let (mut writer, lane) = begun(1, START, "times", &gc_registry());
        for time in times {
            writer.event(lane, 0x101, *time, &[]).unwrap();
        }
        writer.end(1, *times.last().unwrap()).unwrap();
        let page = check("times", &writer.finish().unwrap());
        let document = &page.document;
        let duration = times.last().unwrap() - times[0];
        assert_eq!(document["duration"], duration, "{times:?}");
        let (width, buckets) =
            (document["rate"]["width"].as_u64().unwrap(), document["rate"]["buckets"].as_u64());
        assert!(buckets.unwrap() <= 1024 && width * buckets.unwrap() > duration, "{width} {buckets:?}");
    }
}
