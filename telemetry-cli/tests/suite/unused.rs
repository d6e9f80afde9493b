//! `stats --unused`: what never occurs.

use serde_json::{Value as Json, json};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, RawStr, Value};
use telemetry_schema::Registry;

use crate::run::Folder;
use crate::streams::{START, facts, gc, runtime_registry};

const REGISTRY: &str = r#"
[registry]
name = "cache"
version = "1.0.0"
doc = "A cache"
[kinds]
Lookup = { bit = 0, doc = "per lookup" }
Evict = { bit = 3, doc = "per eviction" }
[presets]
some = "all -Hit"
[types.Why]
repr = "i8"
values = { Full = -1, Expired = 2, Asked = 3 }
[types.Access]
repr = "u8"
flags = true
values = { Read = 1, Write = 2, Both = 3, Map = 4 }
[[event]]
name = "Hit"
code = 1
kind = "Lookup"
doc = "Found"
params = [{ name = "access", sort = "Access" }]
[[event]]
name = "Miss"
code = 2
kind = "Lookup"
doc = "Not found"
[[event]]
name = "Evicted"
code = 3
kind = "Evict"
doc = "An entry went"
params = [{ name = "why", sort = "[Why]" }]
[[event]]
name = "Cleared"
code = 4
used = false
kind = "Evict"
doc = "All entries went"
"#;

fn registry(version: &str) -> Registry {
    telemetry_schema::parse(&REGISTRY.replace("1.0.0", version)).unwrap()
}

/// A change of the output: seconds, set or reset, and the words.
type Change = (u64, bool, &'static str);

/// Makes a stream of events of the registry, by code and value, and changes of switches.
fn stream(session: u64, version: &str, events: &[(u16, i128)], changes: &[Change]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.session(session, &facts(&[("program", "cache"), ("clock", "os")]), 0, START).unwrap();
    let program = writer.registry(session, &registry(version)).unwrap();
    let runtime = writer.registry(session, &runtime_registry()).unwrap();
    let lane = |registry| Lane { session, thread: 1, registry };
    for (at, &(code, value)) in events.iter().enumerate() {
        let one = [Value::Named(EnumValue::new(value))];
        let values = match code {
            1 => vec![one[0]],
            3 => vec![Value::Array(one[..].into())],
            _ => vec![],
        };
        writer.event(lane(program), code, at as u64, &values).unwrap();
    }
    for &(seconds, set, words) in changes {
        let action = Value::Named(EnumValue::new(if set { 1 } else { 2 }));
        let values = [Value::Named(EnumValue::new(0)), action, Value::String(RawStr(words.as_bytes()))];
        writer.event(lane(runtime), 1, seconds * 1_000_000_000, &values).unwrap();
    }
    writer.end(session, 60_000_000_000).unwrap();
    writer.finish().unwrap()
}

/// Makes a stream of one event only, and changes of switches.
pub(crate) fn rarely_used() -> Vec<u8> {
    stream(7, "1.0.0", &[(1, 5)], &[(5, true, "Evict"), (6, false, "Miss")])
}

/// Returns the unused events with their last switches, and the unused values.
fn unused(folder: &Folder, files: &str) -> Json {
    let run = folder.run(&format!("stats --unused --json {files}"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let all: Json = serde_json::from_slice(&run.stdout).unwrap();
    let event = |event: &Json| {
        let switches = event["switches"].as_array().unwrap().iter();
        let switches =
            switches.map(|one| json!([one["on"], one["since_ns"].as_i64().unwrap() / 1_000_000_000]));
        json!([event["event"], event["retired"], switches.collect::<Vec<_>>()])
    };
    let list = |name: &str| all[name].as_array().unwrap().clone();
    let events: Vec<_> = list("events").iter().map(event).collect();
    let values: Vec<_> = list("values").iter().map(|value| value["value"].clone()).collect();
    json!({ "events": events, "values": values })
}

#[test]
fn what_never_occurs_is_listed() {
    let check = |events: &[(u16, i128)], changes: &[Change], expected: Json| {
        let folder = Folder::new().with("a.tel", stream(7, "1.0.0", events, changes));
        assert_eq!(unused(&folder, "a.tel"), expected, "{events:?} {changes:?}");
    };
    let all = json!(["Read", "Write", "Both", "Map", "Full", "Expired", "Asked"]);
    check(
        &[(2, 0)],
        &[],
        json!({ "events": [["Hit", false, []], ["Evicted", false, []], ["Cleared", true, []]], "values": all }),
    );
    check(
        &[(1, 5), (3, -1), (3, 2), (3, 77)],
        &[],
        json!({ "events": [["Miss", false, []], ["Cleared", true, []]], "values": ["Write", "Both", "Asked"] }),
    );
    check(&[(1, 7), (2, 0), (3, -1), (3, 2), (3, 3), (4, 0)], &[], json!({ "events": [], "values": [] }));
    let switched = |words: &[Change], miss: Json, evicted: Json| {
        let events = json!([["Miss", false, miss], ["Evicted", false, evicted], ["Cleared", true, evicted]]);
        check(&[(1, 7)], words, json!({ "events": events, "values": ["Full", "Expired", "Asked"] }));
    };
    switched(&[(5, true, "Evict")], json!([]), json!([[true, 5]]));
    switched(&[(5, true, "all -Evict"), (9, false, "cache:miss")], json!([[false, 9]]), json!([[false, 5]]));
    switched(&[(5, true, "some"), (9, false, "0x8")], json!([[true, 5]]), json!([[false, 9]]));
    switched(&[(4, false, "other:all Evict"), (5, true, "Evict")], json!([]), json!([[true, 5]]));
}

/// Streams of several versions count together, and the newest version says what there is.
#[test]
fn versions_count_as_one() {
    let folder = Folder::new()
        .with("old.tel", stream(7, "1.0.0", &[(2, 0), (4, 0)], &[(1, false, "all")]))
        .with("new.tel", stream(8, "1.0.1", &[(1, 7)], &[(2, true, "all")]));
    let expected = json!({ "events": [["Evicted", false, [[false, 1], [true, 2]]]], "values": ["Full", "Expired", "Asked"] });
    assert_eq!(unused(&folder, "old.tel new.tel"), expected);
}

#[test]
fn it_is_shown() {
    Folder::new()
        .with("gc.tel", gc())
        .with("cache.tel", rarely_used())
        .with("whole.tel", stream(7, "1.0.0", &[(1, 7), (2, 0), (3, -1), (3, 2), (3, 3), (4, 0)], &[]))
        .with("empty.tel", "")
        .check(
            "unused",
            &[
                "stats --unused gc.tel",
                "stats --unused cache.tel",
                "stats --unused whole.tel",
                "stats --unused empty.tel",
                "stats --unused --kind Lookup cache.tel",
                "stats --unused --by why cache.tel",
            ],
        );
}
