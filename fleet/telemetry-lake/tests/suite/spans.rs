//! Spans whose begin and end come in different batches.

use std::collections::BTreeSet;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Value};
use telemetry_lake::lake::Format;
use telemetry_testing::made::{Random, START};

use crate::commit::{BUCKETS, FORMS};
use crate::lakes::{Row, TestLake};
use crate::texts::text;

const REGISTRY: &str = r#"
[registry]
name = "app"
version = "1.0.0"
doc = "A registry"

[kinds]
Work = { bit = 0, doc = "work" }
Turn = { bit = 1, doc = "turns" }

[[event]]
name = "Begin"
code = 1
kind = "Work"
doc = "A request began"
params = [{ name = "request", sort = "u64", doc = "its number" }, { name = "what", sort = "string", doc = "its kind" }]

[[event]]
name = "End"
code = 2
kind = "Work"
doc = "A request ended"
params = [{ name = "request", sort = "u64", doc = "its number" }]

[[event]]
name = "Enter"
code = 3
kind = "Turn"
doc = "A turn began"

[[event]]
name = "Leave"
code = 4
kind = "Turn"
doc = "A turn ended"

[[span]]
name = "Request"
begin = "Begin"
end = "End"
key = "request"
named_by = "what"
doc = "A request"

[[span]]
name = "Turn"
begin = "Enter"
end = "Leave"
doc = "A turn"
"#;

/// A stream of one session in small blocks, with events every 450 of `tick` nanoseconds. Requests
/// end on any of up to three threads, on which turns nest. With one lane, there is one kind.
fn stream(lanes: u64, ends: bool, tick: u64) -> Vec<u8> {
    let source =
        if lanes > 1 { REGISTRY.to_owned() } else { REGISTRY.replace("kind = \"Turn\"", "kind = \"Work\"") };
    let registry = telemetry_schema::parse(&source);
    let registry = registry.unwrap_or_else(|invalid| panic!("{}", invalid.render("app", &source)));
    let mut writer = Writer::new(Vec::new()).block_size(500);
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(1, &facts, 0, START).unwrap();
    let registry = writer.registry(1, &registry).unwrap();
    let (mut random, mut now, mut requests, mut depths) = (Random(5), 0, Vec::new(), [0; 3]);
    for number in 0..5000 {
        now += tick * (1 + random.below(900));
        let on = random.below(lanes.min(3));
        let lane = Lane { session: 1, thread: 1 + on as u32, registry };
        match (random.below(4), &mut depths[on as usize]) {
            (0, _) => {
                let what = ["read", "write", "sync"][random.below(3) as usize];
                // With one lane, keys are used again.
                let free = (0..).find(|request| !requests.contains(request));
                let request = if lanes > 1 { number } else { free.unwrap_or(number) };
                writer.event(lane, 1, now, &[Value::Unsigned(request), text(what)]).unwrap();
                requests.push(request);
            }
            (1, _) if !requests.is_empty() => {
                let request = requests.swap_remove(random.below(requests.len() as u64) as usize);
                writer.event(lane, 2, now, &[Value::Unsigned(request)]).unwrap();
            }
            (_, depth) if *depth == 0 || (*depth < 40 && random.below(2) == 0) => {
                writer.event(lane, 3, now, &[]).unwrap();
                *depth += 1;
            }
            (_, depth) => {
                writer.event(lane, 4, now, &[]).unwrap();
                *depth -= 1;
            }
        }
    }
    if ends {
        writer.end(1, now + 1).unwrap();
    }
    writer.finish().unwrap()
}

/// The rows of a table, without what a batch gives them.
fn rows(rows: Vec<Row>) -> Vec<Row> {
    let mut rows = rows;
    rows.iter_mut().for_each(|row| drop(row.remove("batch")));
    rows.sort();
    rows
}

/// Puts the segments that are not left out into a lake, and commits after each `some`.
fn commit_each(
    form: impl Into<crate::lakes::Form>,
    stream: &[u8],
    some: usize,
    without: &[usize],
) -> TestLake {
    let (lake, source) = (TestLake::new(form), TestLake::new(Format::Parquet));
    let segments = source.ship_cut("h1", stream, 3000);
    assert!(segments.len() > 8, "{} segments", segments.len());
    let chosen: Vec<_> = (0..).zip(segments).filter(|(number, _)| !without.contains(number)).collect();
    for segments in chosen.chunks(some) {
        for (_, segment) in segments {
            let place = lake.path().join(segment.strip_prefix(source.path()).unwrap());
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::copy(segment, place).unwrap();
        }
        lake.commit();
    }
    lake
}

/// However segments are divided into batches, each span has the same row, once. Blocks of other
/// threads and kinds come out of order. So they may change which span counts as the inner one. Some
/// streams take days: a span is on the day of its end, also if its begin comes later.
#[test]
fn batches_change_no_span() {
    let days = 100_000_000;
    for (lanes, ends, tick, without) in [
        (4, true, 1, &[][..]),
        (4, false, 1, &[]),
        (4, true, 1, &[4]),
        (4, false, 1, &[2, 3]),
        (1, true, 1, &[]),
        (1, false, 1, &[4]),
        (4, true, days, &[]),
        (1, true, days, &[]),
    ] {
        let stream = stream(lanes, ends, tick);
        let of = |lake: &TestLake, table: &str| {
            let mut rows = rows(if table == "span" { lake.rows(table) } else { lake.latest(table) });
            for row in &mut rows {
                if lanes > 1 {
                    row.remove("self_ns");
                }
                // A later batch may show what is missing in this one.
                if !without.is_empty() {
                    row.remove("certain");
                }
            }
            rows
        };
        let wanted = commit_each(Format::Delta, &stream, 1000, without);
        let (spans, open) = (of(&wanted, "span"), of(&wanted, "open_span"));
        assert!(spans.iter().any(|row| row["span"] == "Request [sync]"));
        let on: BTreeSet<_> = spans.iter().filter_map(|row| row.get("day")).collect();
        assert_eq!(on.len() > 2, tick == days, "{on:?}");
        // What is missing may still come, and end them.
        assert_eq!(open.is_empty(), ends && without.is_empty(), "{open:?}");
        for form in FORMS {
            let lake = commit_each(form, &stream, 2, without);
            let found = of(&lake, "span");
            // A bucket's rows do not name it.
            if form == BUCKETS {
                assert_eq!(found.len(), spans.len());
                continue;
            }
            let other = found.iter().zip(&spans).find(|(found, wanted)| found != wanted);
            assert_eq!(
                (other, found.len()),
                (None, spans.len()),
                "{form:?}, {lanes} lanes, without {without:?}"
            );
            assert_eq!(of(&lake, "open_span"), open, "{form:?}");
        }
    }
}
