//! What Firefox Profiler's importer asks of a trace in Chrome's format, by its source. There is no
//! package of the importer that a test could run.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::flames::nested_spans;
use super::streams::samples;
use crate::run::Folder;

/// Each event needs a name; the importer rejects the whole file otherwise. It pairs the two ends of
/// a span by thread and name, the last begin first.
#[test]
fn the_importer_finds_names_and_spans() {
    let mut spans = 0;
    for sample in samples() {
        let name = &sample.name;
        let folder = Folder::new().with("in", &sample.bytes);
        assert_eq!(folder.run("convert -o trace.json in").code, Some(sample.code), "{name}");
        let trace: Json = serde_json::from_slice(&std::fs::read(folder.path("trace.json")).unwrap()).unwrap();
        let mut open = BTreeMap::<_, Vec<f64>>::new();
        let mut found = BTreeMap::<String, (u64, f64)>::new();
        for event in trace["traceEvents"].as_array().unwrap() {
            let of = event["name"].as_str().unwrap_or_else(|| panic!("{name}: no name: {event}"));
            let thread = [&event["pid"], &event["tid"]].map(|id| id.as_u64().unwrap());
            if event["ph"] == "M" {
                continue;
            }
            let time = event["ts"].as_f64().unwrap();
            match event["ph"].as_str().unwrap() {
                "B" => open.entry((thread, of)).or_default().push(time),
                "E" => {
                    let begin = open.get_mut(&(thread, of)).and_then(Vec::pop);
                    let begin = begin.unwrap_or_else(|| panic!("{name}: no begin: {event}"));
                    let of = found.entry(of.to_string()).or_default();
                    *of = (of.0 + 1, of.1 + time - begin);
                }
                _ => {}
            }
        }
        for (span, (count, total)) in nested_spans(&folder, "in", "trace.json") {
            let of = found.get(&span).copied().unwrap_or_default();
            assert_eq!(of.0, count, "{name}: {span}");
            assert!((of.1 - total).abs() < 0.001 * count as f64, "{name}: {span}: {} {total}", of.1);
            spans += count;
        }
    }
    assert!(spans > 100, "{spans}");
}
