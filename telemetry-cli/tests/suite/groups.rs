//! `stats --by`, compared with groups of what `print --json` prints.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use telemetry_decode::Value;
use telemetry_decode::writer::Lane;
use telemetry_testing::made::{Plan, make, registry};

use crate::run::Folder;
use crate::spans;
use crate::streams::{begun, gc, labeled, two_registries};

fn folder() -> Folder {
    let made = make(&registry(), &Plan { sessions: 2, events: 400, ..Plan::default() });
    Folder::new()
        .with("gc.tel", gc())
        .with("labels.tel", labeled())
        .with("two.tel", two_registries())
        .with("spans.tel", spans::stream())
        .with("made.tel", made.stream)
}

/// Returns the value of a column in a line of `print --json`.
fn column(event: &Json, name: &str) -> Option<String> {
    let value = match name {
        "event" | "kind" | "registry" | "session" => &event[name],
        // Two threads of one stream are called `worker`.
        "thread" => {
            return Some(match (&event["thread_name"], event["thread"].as_u64().unwrap()) {
                (Json::Null, 0) => "-".to_string(),
                (Json::Null, number) => format!("#{number}"),
                (Json::String(name), number) if name == "worker" => format!("worker#{number}"),
                (name, _) => name.as_str().unwrap().to_string(),
            });
        }
        name => event["params"].get(name)?,
    };
    // Flags are a list there, and none of them is zero.
    Some(match value {
        Json::Array(flags) if flags.is_empty() => "0".to_string(),
        Json::Array(flags) => flags.iter().map(|flag| flag.as_str().unwrap()).collect::<Vec<_>>().join("|"),
        Json::String(text) => text.clone(),
        value => value.to_string(),
    })
}

fn objects(folder: &Folder, args: &str) -> Vec<Json> {
    let run = folder.run(args);
    assert!(matches!(run.code, Some(0 | 1)), "{args}: {}", run.stderr);
    let text = String::from_utf8(run.stdout).unwrap();
    match args.starts_with("print") {
        true => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        false => vec![serde_json::from_str(&text).unwrap()],
    }
}

/// Compares the groups of a stream, by some columns, and the sums of a parameter.
fn check(folder: &Folder, stream: &str, by: &[&str], sum: &str) {
    let mut expected: BTreeMap<Vec<String>, (u64, u64, i128)> = BTreeMap::new();
    let mut without = 0;
    for event in objects(folder, &format!("print --json {stream}")) {
        let Some(key) = by.iter().map(|name| column(&event, name)).collect::<Option<Vec<_>>>() else {
            without += 1;
            continue;
        };
        let (events, count, total) = expected.entry(key).or_default();
        *events += 1;
        if let Some(number) = event["params"].get(sum).and_then(Json::as_number) {
            (*count, *total) = (*count + 1, *total + number.as_i128().unwrap());
        }
    }
    let sums = if sum.is_empty() { String::new() } else { format!("--sum {sum}") };
    let [found] = &objects(folder, &format!("stats --json --by {} {sums} {stream}", by.join(",")))[..] else {
        panic!("one object");
    };
    let mut groups = BTreeMap::new();
    for group in found["groups"].as_array().unwrap() {
        let key = by.iter().map(|name| match &group["values"][name] {
            Json::String(text) => text.clone(),
            value => value.to_string(),
        });
        let sums = group["sums"].get(0).map_or((0, 0.0), |sum| {
            (sum["count"].as_u64().unwrap(), sum["sum"].as_f64().unwrap_or_default())
        });
        let one = (group["events"].as_u64().unwrap(), sums.0, sums.1);
        assert!(groups.insert(key.collect::<Vec<_>>(), one).is_none(), "{by:?}: a group twice");
    }
    // Sums beyond 64 bits are floats.
    let events_of_all = expected.values().map(|(events, ..)| events).sum::<u64>();
    let expected: BTreeMap<_, _> = expected
        .into_iter()
        .map(|(key, (events, count, total))| (key, (events, count, total as f64)))
        .collect();
    assert_eq!(groups, expected, "{stream} {by:?}");
    assert_eq!(found["without"], without, "{stream} {by:?}");
    assert_eq!(found["events"], events_of_all);
    assert_eq!(found["dropped"]["groups"], 0);
}

#[test]
fn groups_are_those_of_the_events() {
    let folder = folder();
    for (stream, by, sum) in [
        ("gc.tel", &["event"][..], "size"),
        ("gc.tel", &["kind", "thread"], "live"),
        ("gc.tel", &["why"], ""),
        ("gc.tel", &["access", "step"], "u16"),
        ("gc.tel", &["emergency", "event", "session"], "live"),
        ("gc.tel", &["size", "level", "pool"], "size"),
        ("gc.tel", &["i8", "i64", "u64"], "i8"),
        ("labels.tel", &["label"], "u8"),
        ("labels.tel", &["registry", "event", "thread"], ""),
        ("two.tel", &["registry", "kind"], ""),
        ("spans.tel", &["queue", "who"], ""),
        ("spans.tel", &["job", "thread"], ""),
        ("made.tel", &["event", "kind", "thread", "session"], ""),
    ] {
        check(&folder, stream, by, sum);
    }
}

#[test]
fn floats_and_arrays_are_values_too() {
    let folder = folder();
    let [found] = &objects(&folder, "stats --json --by f32,steps --sum mortality gc.tel")[..] else {
        panic!("one object");
    };
    assert!(found["groups"].as_array().unwrap().len() > 1, "{found}");
    let [found] =
        &objects(&folder, "stats --json --by event --sum mortality --percentiles 50,100 gc.tel")[..]
    else {
        panic!("one object");
    };
    let groups = found["groups"].as_array().unwrap();
    let started = groups.iter().find(|group| group["values"]["event"] == "TraceStart").unwrap();
    let numbers: Vec<f64> = objects(&folder, "print --json --event TraceStart gc.tel")
        .iter()
        .filter_map(|event| event["params"]["mortality"].as_f64())
        .collect();
    let sum = started["sums"][0]["sum"].as_f64().unwrap();
    assert!((sum - numbers.iter().sum::<f64>()).abs() < 1e-9, "{sum} {numbers:?}");
    let most = started["sums"][0]["percentiles"][1]["value"].as_f64().unwrap();
    assert_eq!(Some(most), numbers.iter().copied().reduce(f64::max));
}

/// Beyond the limit, the rarest groups are dropped, and no event is lost from the sum.
#[test]
fn rare_groups_are_dropped() {
    let registry = telemetry_schema::parse(spans::REGISTRY).unwrap();
    let (mut writer, lane) = begun(7, 1, "groups", &registry);
    let lane = Lane { thread: 1, ..lane };
    for number in 0..250_000_u64 {
        // Each tenth event is of one of ten groups.
        let depth = if number % 10 == 0 { number / 10 % 10 } else { 1000 + number };
        writer.event(lane, spans::PHASE_BEGIN, number, &[Value::Unsigned(depth)]).unwrap();
    }
    writer.end(7, 250_000).unwrap();
    let folder = Folder::new().with("many.tel", writer.finish().unwrap());
    for (args, most) in [("--by depth", 65_536), ("--by depth --sum depth --percentiles 50", 1024)] {
        let [found] = &objects(&folder, &format!("stats --json {args} many.tel"))[..] else {
            panic!("one object")
        };
        let groups = found["groups"].as_array().unwrap();
        assert_eq!(groups.len(), most);
        for (group, depth) in groups.iter().zip(0..10) {
            assert_eq!(
                (&group["values"]["depth"], &group["events"]),
                (&Json::from(depth), &Json::from(2500))
            );
        }
        let listed: u64 = groups.iter().map(|group| group["events"].as_u64().unwrap()).sum();
        assert_eq!(listed + found["dropped"]["events"].as_u64().unwrap(), 250_000);
        assert_eq!(found["events"], 250_000);
        assert!(found["dropped"]["error"].as_u64().unwrap() > 0);
    }
    let run = folder.run("stats --by depth --limit 2 many.tel");
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(text.lines().nth(3), Some("and 65,534 more groups"), "{text}");
    assert!(text.contains("rare groups dropped, with "), "{text}");
}

#[test]
fn mistakes_in_groups() {
    folder().check(
        "mistakes_in_groups",
        &[
            "stats --by wy gc.tel",
            "stats --by why,thraed gc.tel",
            "stats --by why --sum sise gc.tel",
            "stats --by why --sum pool gc.tel",
            "stats --by why --sum size --percentiles 0,50 gc.tel",
            "stats --sum size gc.tel",
            "stats --by a,b,c,d,e,f,g,h,i gc.tel",
            "stats --by wy - < gc.tel",
        ],
    );
}
