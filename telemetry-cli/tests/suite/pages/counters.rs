//! Counters of the document are those of the registry, with the values of the events. Those of logs
//! of Mono are the ones that `stats` shows.

use serde_json::{Value as Json, json};
use telemetry_decode::{RawStr, Value};
use telemetry_testing::mono;

use super::Page;
use super::numbers::list_of;
use crate::run::Folder;
use crate::streams::{START, begun, gc_registry};

const REGISTRY: &str = include_str!("../../../../tests/registries/counters.toml");

/// Makes samples of all forms of counters. Each time from 1 on has one of each.
fn samples(number: u64) -> Vec<u8> {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let (mut writer, lane) = begun(1, START, "counted", &registry);
    for at in 0..number {
        let values = [
            (1, vec![Value::Unsigned(at * 10)]),
            (2, vec![Value::Signed(5 - at as i64)]),
            (3, vec![Value::Unsigned(4711), Value::Unsigned(at)]),
            (3, vec![Value::Unsigned(4712), Value::Unsigned(2 * at)]),
            (4, vec![Value::Unsigned(4711), Value::Signed(-1)]),
        ];
        for (code, values) in values {
            writer.event(lane, code, 1000 * (at + 1), &values).unwrap();
        }
    }
    writer.end(1, 1000 * (number + 1)).unwrap();
    writer.finish().unwrap()
}

pub(super) fn stream() -> Vec<u8> {
    samples(7)
}

/// Returns the sums of differences.
fn times(counter: &Json) -> Vec<u64> {
    let mut sum = 0;
    let since = list_of(&counter["at"]).iter().map(|since| since.as_u64().unwrap());
    since
        .map(|since| {
            sum += since;
            sum
        })
        .collect()
}

#[track_caller]
fn check(number: u64, every: u64) {
    let page = Page::of(&samples(number));
    let counters = list_of(&page.document["counters"]);
    let heads: Vec<_> = counters
        .iter()
        .map(|of| {
            json!([of["counter"], of["thread"], of["unit"], of["falls"], of["registry"], of["session"]])
        })
        .collect();
    let expected = [
        json!(["CacheHits", null, "", false, "counted", 0]),
        json!(["CacheBytes", null, "bytes", number > 1, "counted", 0]),
        json!(["ThreadHits", "4711", "", false, "counted", 0]),
        json!(["ThreadHits", "4712", "", false, "counted", 0]),
        json!(["ThreadDepth", "4711", "", false, "counted", 0]),
    ];
    assert_eq!(heads, expected);
    let values: [&dyn Fn(u64) -> f64; 5] =
        [&|at| 10.0 * at as f64, &|at| 5.0 - at as f64, &|at| at as f64, &|at| 2.0 * at as f64, &|_| -1.0];
    for (counter, value) in counters.iter().zip(values) {
        let mut kept: Vec<_> = (0..number).step_by(every as usize).collect();
        if kept.last() != Some(&(number - 1)) {
            kept.push(number - 1);
        }
        let first = times(counter)[0];
        let found: Vec<_> = times(counter).iter().map(|at| (at - first) / 1000).collect();
        assert_eq!(found, kept, "{counter}");
        let found: Vec<_> = list_of(&counter["values"]).iter().map(|of| of.as_f64().unwrap()).collect();
        assert_eq!(found, kept.iter().map(|at| value(*at)).collect::<Vec<_>>());
        let (first, last) = (value(0), value(number - 1));
        let ends = json!([number, every, first, last, first.min(last), first.max(last)]);
        let of = ["count", "every", "first", "last", "min", "max"].map(|member| &counter[member]);
        assert_eq!(json!(of), ends);
    }
}

#[test]
fn values_are_those_of_the_events() {
    check(1, 1);
    check(7, 1);
    // Room for 1,024 values, of which each second is dropped twice.
    check(2500, 4);
}

#[test]
fn counters_of_mono_are_those_of_stats() {
    for log in [mono::one(), mono::seventeen()] {
        let page = Page::of(&log);
        let stats: Json = {
            let folder = Folder::new().with("stream", &log);
            serde_json::from_slice(&folder.run("stats --json stream").stdout).unwrap()
        };
        let float = |value: &Json| value.as_f64().unwrap();
        let row = |name: &str, of: &Json| {
            let values = ["count", "first", "last", "min", "max"].map(|member| float(&of[member]));
            (name.to_string(), of["unit"].as_str().unwrap().to_string(), values.map(|value| value.to_bits()))
        };
        let counters = list_of(&page.document["counters"]).iter();
        let defined = counters.filter(|of| of["counter"].as_str().unwrap().contains(": "));
        let mut found: Vec<_> = defined.map(|of| row(of["counter"].as_str().unwrap(), of)).collect();
        found.sort();
        let expected = list_of(&stats["counters"]).iter();
        let expected: Vec<_> = expected.map(|of| row(of["counter"].as_str().unwrap(), of)).collect();
        assert_eq!(found, expected);
    }
}

/// A log of very many threads makes no page of as many counters.
#[test]
fn counters_are_limited() {
    let registry = telemetry_schema::parse(REGISTRY).unwrap();
    let (mut writer, lane) = begun(1, START, "counted", &registry);
    for thread in 0..30_000 {
        writer.event(lane, 3, 5, &[Value::Unsigned(thread), Value::Unsigned(1)]).unwrap();
    }
    let page = Page::of(&writer.finish().unwrap());
    assert_eq!(list_of(&page.document["counters"]).len(), 1000);
    let notes = page.document["notes"].to_string();
    assert!(notes.contains("29000 values of further counters are left out"), "{notes}");
    // Streams without counters have none.
    let (mut writer, lane) = begun(1, START, "none", &gc_registry());
    writer.event(lane, 0xffff, 5, &[Value::String(RawStr(b"text"))]).unwrap();
    assert_eq!(Page::of(&writer.finish().unwrap()).document["counters"], json!([]));
}
