//! Traces for Perfetto, in its format and in that of Chrome.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use serde_json::Value as Json;

use super::expected::{Arguments, Expected, expected, float};
use super::streams::{Sample, samples};
use super::trace_processor::{folder, query};
use crate::run::Folder;
use crate::streams::marked;

/// Errors while a trace was imported.
const ERRORS: &str = "SELECT name, value FROM stats WHERE value > 0 \
    AND (severity <> 'info' OR name GLOB '*error*' OR name GLOB '*skipped*' OR name GLOB '*dropped*')";

/// Slices and instants, with one argument each, or none.
const SLICES: &str = "SELECT slice.id, track_id, ts, dur, depth, name, key, int_value, string_value, \
    real_value, value_type FROM slice LEFT JOIN args USING (arg_set_id) WHERE name <> 'lost' ORDER BY slice.id, args.id";

/// The depth of the reader's deepest slices. An instant is inside of each instant that its thread
/// had before at the same time. The reader drops the arguments and the depth of deeper ones.
const MAX_DEPTH: i64 = 511;

/// A slice, or an instant.
#[derive(Debug)]
struct Slice {
    name: String,
    time: String,
    duration: i64,
    track: i64,
    depth: i64,
    arguments: Arguments,
}

/// Files of all formats that Perfetto reads, and what arguments begin with there.
const FILES: [(&str, &str); 3] =
    [("trace.pftrace", "debug."), ("trace.json", "args."), ("trace.json.gz", "args.")];

#[test]
fn perfetto_sees_the_same_numbers() {
    let Some(engine) = folder() else { return };
    for sample in samples() {
        for (file, prefix) in &FILES[..2] {
            check(&engine, &sample, file, prefix);
        }
    }
    let (file, prefix) = FILES[2];
    check(&engine, &samples()[0], file, prefix);
}

/// Marks have their texts as names. In Perfetto's format they are on one track; in Chrome's they
/// are global.
#[test]
fn perfetto_shows_marks_by_their_texts() {
    const MARKS: &str = "SELECT slice.name, process_track.id IS NULL AND thread_track.id IS NULL AS is_global \
        FROM slice LEFT JOIN process_track ON process_track.id = track_id \
        LEFT JOIN thread_track ON thread_track.id = track_id WHERE category = 'Program' ORDER BY ts";
    let Some(engine) = folder() else { return };
    for (file, _) in FILES {
        let folder = Folder::new().with("stream", marked());
        assert_eq!(folder.run(&format!("convert -o {file} stream")).code, Some(0));
        let rows = query(&engine, &folder.path(file), &[MARKS]);
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row["name"].as_str().unwrap(), row["is_global"].as_i64().unwrap()))
            .collect();
        assert_eq!(found, [("warm-up done", 1), ("deploy 17", 1), ("Mark", 0)], "{file}");
    }
}

/// The same without a reader of others.
#[test]
fn marks_are_global_instants() {
    let folder = Folder::new().with("stream", marked());
    assert_eq!(folder.run("convert -o trace.json stream").code, Some(0));
    let trace: Json = serde_json::from_slice(&std::fs::read(folder.path("trace.json")).unwrap()).unwrap();
    let marks = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "Program");
    let found: Vec<_> = marks.map(|mark| [&mark["name"], &mark["s"], &mark["args"]["text"]]).collect();
    let expected = [
        ["warm-up done", "g", "warm-up done"].map(Json::from),
        ["deploy 17", "g", "deploy 17"].map(Json::from),
        ["Mark".into(), "t".into(), 3.into()],
    ];
    assert_eq!(found, expected.each_ref().map(|row| row.each_ref()));
}

fn check(engine: &Path, sample: &Sample, file: &str, prefix: &str) {
    let Sample { name, bytes, registry, code } = sample;
    let folder = Folder::new().with("stream", bytes);
    let run = folder.run(&format!("convert -o {file} stream"));
    assert_eq!(run.code, Some(*code), "{name}: {}", run.stderr);
    let rows = query(engine, &folder.path(file), &[ERRORS, SLICES]);
    let (rows, errors): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.get("id").is_some());
    assert_eq!(errors, [] as [Json; 0], "{name}");
    let mut slices = slices(&rows, prefix, start(&std::fs::read(folder.path(file)).unwrap()));
    let mut expected = expected(&folder, "stream", registry.as_ref());
    if prefix == "args." {
        slices.iter_mut().for_each(|slice| round(&mut slice.arguments));
        expected.instants.iter_mut().for_each(|(_, _, arguments)| round(arguments));
        expected.begins.iter_mut().for_each(|(_, arguments)| round(arguments));
        expected.instants.sort();
        expected.begins.sort();
    }
    forget_deep(&slices, &mut expected);
    compare(&format!("{name} as {file}"), &slices, &expected);
}

/// Leaves out the arguments that the reader drops: those of slices inside of one that is as deep as
/// can be. The arguments of all others must be found.
fn forget_deep(slices: &[Slice], expected: &mut Expected) {
    let mut full = BTreeSet::new();
    let (mut deep, mut kept) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
    for slice in slices {
        let Slice { name, time, duration, track, depth, arguments } = slice;
        // A span is not inside of instants.
        if *duration != 0 {
            full.remove(&(track, time));
        }
        if full.contains(&(track, time)) {
            assert!(*depth == 0 && arguments.is_empty(), "the reader keeps deep slices now: {slice:?}");
            *deep.entry((name.clone(), time.clone())).or_default() += 1;
        } else {
            *kept.entry((name.clone(), time.clone(), arguments.clone())).or_default() += 1;
        }
        if *depth == MAX_DEPTH {
            full.insert((track, time));
        }
    }
    if deep.is_empty() {
        return;
    }
    for (name, time, arguments) in &mut expected.instants {
        let Some(deep) = deep.get_mut(&(name.clone(), time.clone())).filter(|deep| **deep > 0) else {
            continue;
        };
        match kept.get_mut(&(name.clone(), time.clone(), arguments.clone())).filter(|kept| **kept > 0) {
            Some(kept) => *kept -= 1,
            None => {
                *deep -= 1;
                arguments.clear();
            }
        }
    }
    expected.instants.sort();
}

/// Makes values the same that the reader changes in JSON: numbers are floats, none of them
/// subnormal, and escapes in texts stay.
fn round(arguments: &mut Arguments) {
    for (_, text) in arguments {
        if let Ok(plain) = serde_json::from_str::<String>(&format!("\"{text}\"")) {
            *text = plain.split('\0').next().unwrap_or_default().to_string();
        }
        if let Ok(number) = text.parse::<f64>() {
            let number = if number.is_subnormal() { 0.0 } else { number };
            *text = format!("{number:.15e}");
        }
    }
}

/// Returns the time that a trace in JSON counts from.
fn start(trace: &[u8]) -> i64 {
    let mut plain = Vec::new();
    if trace.starts_with(&[0x1f, 0x8b]) {
        flate2::read::GzDecoder::new(trace).read_to_end(&mut plain).unwrap();
    } else {
        plain.extend_from_slice(trace);
    }
    match serde_json::from_slice::<Json>(&plain) {
        Ok(trace) => trace["otherData"]["start_ns"].as_str().unwrap().parse().unwrap(),
        // Protobuf has the whole time.
        Err(_) => 0,
    }
}

fn compare(name: &str, slices: &[Slice], expected: &Expected) {
    let mut spans = BTreeMap::<String, (u64, i64)>::new();
    let mut open = BTreeMap::<String, u64>::new();
    let mut counts = BTreeMap::<String, u64>::new();
    let (mut instants, mut begins) = (Vec::new(), Vec::new());
    for slice in slices {
        let Slice { name, time, duration, arguments, .. } = slice;
        let is_span = expected.spans.contains_key(name) || expected.open.contains_key(name);
        match duration {
            -1 => *open.entry(name.clone()).or_default() += 1,
            _ if is_span => {
                let of = spans.entry(name.clone()).or_default();
                *of = (of.0 + 1, of.1 + duration);
            }
            _ if expected.counts.contains_key(name) => {
                assert_eq!(*duration, 0, "{slice:?}");
                *counts.entry(name.clone()).or_default() += 1;
                instants.push((name.clone(), time.clone(), arguments.clone()));
            }
            _ => {}
        }
        if is_span && expected.simple.contains(name) {
            let of_begin = |(name, _): &&(String, String)| !name.starts_with("end_") && name != "uncertain";
            begins.push((name.clone(), arguments.iter().filter(of_begin).cloned().collect()));
        }
    }
    instants.sort();
    begins.sort();
    assert_eq!(spans, expected.spans, "{name}: spans");
    assert_eq!(open, expected.open, "{name}: spans without an end");
    assert_eq!(counts, expected.counts, "{name}: events");
    let first_difference =
        instants.iter().zip(&expected.instants).find(|(found, expected)| found != expected);
    assert_eq!(first_difference, None, "{name}: found, expected");
    assert_eq!(instants.len(), expected.instants.len(), "{name}");
    let first_difference = begins.iter().zip(&expected.begins).find(|(found, expected)| found != expected);
    assert_eq!(first_difference, None, "{name}: arguments of spans: found, expected");
    assert_eq!(begins.len(), expected.begins.len(), "{name}");
}

/// Puts the rows of each slice together.
fn slices(rows: &[Json], prefix: &str, start: i64) -> Vec<Slice> {
    let mut slices: Vec<(&Json, Slice)> = Vec::new();
    for row in rows {
        if slices.last().is_none_or(|(id, _)| **id != row["id"]) {
            let slice = Slice {
                name: row["name"].as_str().unwrap().to_string(),
                time: (number(&row["ts"]) + start).to_string(),
                duration: number(&row["dur"]),
                track: number(&row["track_id"]),
                depth: number(&row["depth"]),
                arguments: Vec::new(),
            };
            slices.push((&row["id"], slice));
        }
        let name = row["key"].as_str().and_then(|key| key.strip_prefix(prefix));
        if let (Some(name), Some(text), Some((_, slice))) = (name, text(row), slices.last_mut()) {
            slice.arguments.push((name.to_string(), text));
        }
    }
    slices.iter_mut().for_each(|(_, slice)| slice.arguments.sort());
    slices.into_iter().map(|(_, slice)| slice).collect()
}

/// Returns the value of an argument.
fn text(row: &Json) -> Option<String> {
    Some(match row["value_type"].as_str()? {
        "pointer" => format!("{:#x}", number(&row["int_value"])),
        "int" | "uint" => number(&row["int_value"]).to_string(),
        "bool" => (number(&row["int_value"]) != 0).to_string(),
        "real" => row["real_value"].as_f64().map_or("not finite".to_string(), float),
        "string" => match row["string_value"].as_str()? {
            "NaN" | "Infinity" | "-Infinity" => "not finite".to_string(),
            text => text.to_string(),
        },
        _ => return None,
    })
}

/// Returns a whole number, which is text if it is large.
fn number(value: &Json) -> i64 {
    value.as_i64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{value} is no number"))
}
