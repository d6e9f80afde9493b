//! Versions of a registry in one lake.

use std::collections::BTreeSet;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Value};
use telemetry_lake::lake::Format;
use telemetry_testing::made::START;

use crate::commit::{BUCKETS, FORMS};
use crate::lakes::{Row, TestLake, events_of};

pub(crate) const V1: &str = r#"
[registry]
name = "app"
version = "1.0.0"
doc = "A registry"

[kinds]
Work = { bit = 0, doc = "work" }

[[event]]
name = "Tick"
code = 1
kind = "Work"
doc = "A tick"
params = [{ name = "size", sort = "u32", doc = "how much" }, { name = "n", sort = "u64", counter = true, doc = "a number" }]
"#;

/// A stream of one session, with an event of each type.
pub(crate) fn stream(session: u64, text: &str, events: &[(u16, &[Value<'_>])]) -> Vec<u8> {
    let registry = telemetry_schema::parse_embedded(text);
    let registry = registry.unwrap_or_else(|invalid| panic!("{}", invalid.render("app", text)));
    let mut writer = Writer::new(Vec::new());
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(session, &facts, 0, START).unwrap();
    let registry = writer.registry(session, &registry).unwrap();
    for (number, (code, values)) in events.iter().enumerate() {
        let lane = Lane { session, thread: 1, registry };
        writer.event(lane, *code, number as u64 * 1000, values).unwrap();
    }
    writer.end(session, 1_000_000).unwrap();
    writer.finish().unwrap()
}

/// A second type of event, and a span from the first to it.
const TURN: &str = r#"
[[event]]
name = "Tock"
code = 2
kind = "Work"
doc = "A tock"

[[span]]
name = "Turn"
begin = "Tick"
end = "Tock"
doc = "A turn"
"#;

/// Rows of spans do not say on which day they are.
#[test]
fn spans_are_on_the_day_of_their_end() {
    let text = format!("{V1}{TURN}");
    let registry = telemetry_schema::parse_embedded(&text);
    let registry = registry.unwrap_or_else(|invalid| panic!("{}", invalid.render("app", &text)));
    let (day, numbers) = (86_400_000_000_000, [Value::Unsigned(7), Value::Unsigned(8)]);
    let mut writer = Writer::new(Vec::new());
    let mut facts = Facts::default();
    facts.set("clock", "os");
    // It begins at noon.
    let noon = START / day * day + day / 2;
    writer.session(1, &facts, 0, noon).unwrap();
    let lane = Lane { session: 1, thread: 1, registry: writer.registry(1, &registry).unwrap() };
    for (hour, code) in [(1, 1), (2, 2), (11, 1), (13, 2), (14, 1), (15, 2), (40, 1)] {
        let values = if code == 1 { &numbers[..] } else { &[] };
        writer.event(lane, code, hour * day / 24, values).unwrap();
    }
    writer.end(1, 2 * day).unwrap();
    let stream = writer.finish().unwrap();
    for form in FORMS {
        let lake = TestLake::new(form);
        lake.ship("h1", &stream);
        lake.commit();
        let mut days: Vec<_> = lake.rows("span").into_iter().map(|row| row["day"].clone()).collect();
        days.sort();
        assert_eq!(days, ["2023-11-14", "2023-11-15", "2023-11-15", "2023-11-16"], "{form:?}");
    }
}

/// The values of a column in the order of sessions, and "null" where it has none.
fn values(lake: &TestLake, table: &str, column: &str) -> Vec<String> {
    let mut rows = lake.rows(table);
    rows.sort_by_key(|row| row["session"].parse::<i64>().unwrap());
    let of = |row: &Row| row.get(column).cloned().unwrap_or_else(|| "null".to_owned());
    rows.iter().map(of).collect()
}

/// Returns the columns that the log of a table has, or nothing without a log.
fn columns(lake: &TestLake, table: &str) -> Vec<String> {
    let (mut columns, folder) = (Vec::new(), lake.path().join("tables").join(table).join("_delta_log"));
    for version in 0.. {
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{version:020}.json"))) else { break };
        for action in text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
            if let Some(schema) = action["metaData"]["schemaString"].as_str() {
                let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
                let fields = schema["fields"].as_array().unwrap().iter();
                columns = fields.map(|field| field["name"].as_str().unwrap().to_owned()).collect();
            }
        }
    }
    columns
}

#[test]
fn each_kind_of_change_has_its_place() {
    let of_v1: &[Value<'_>] = &[Value::Unsigned(7), Value::Unsigned(1)];
    let minor = V1.replace("1.0.0", "1.0.1")
        + "[[event]]\nname = \"Tock\"\ncode = 2\nkind = \"Work\"\ndoc = \"A tock\"\nparams = []\n";
    let median = V1.replace("1.0.0", "1.1.0").replace(
        "{ name = \"n\"",
        "{ name = \"place\", sort = \"string\", max = 20, doc = \"where\" }, { name = \"n\"",
    );
    let changed = V1.replace("1.0.0", "1.2.0").replace("sort = \"u32\"", "sort = \"string\", max = 20");
    let major = V1.replace("1.0.0", "2.0.0").replace("sort = \"u32\"", "sort = \"bool\"");
    for form in FORMS {
        // All at once, and one after the other.
        for is_at_once in [true, false] {
            let lake = TestLake::new(form);
            let streams = [
                stream(1, V1, &[(1, of_v1)]),
                stream(2, &minor, &[(1, of_v1), (2, &[])]),
                stream(
                    3,
                    &median,
                    &[(1, &[Value::Unsigned(8), Value::String("here".into()), Value::Unsigned(2)])],
                ),
                stream(4, &changed, &[(1, &[Value::String("ten".into()), Value::Unsigned(3)])]),
                stream(5, &major, &[(1, &[Value::Bool(true), Value::Unsigned(4)])]),
            ];
            for stream in &streams {
                lake.ship("h1", stream);
                if !is_at_once {
                    lake.commit();
                }
            }
            lake.commit();
            lake.check(&streams.iter().flat_map(|stream| events_of("h1", stream)).collect());
            // A minor version: a further table. Others have the same one.
            assert_eq!(lake.rows("app_Tock").len(), 1);
            assert_eq!(values(&lake, "app_Tick", "size"), ["7", "7", "8", "null",]);
            // A median version: a column without values in other rows.
            assert_eq!(values(&lake, "app_Tick", "place"), ["null", "null", "here", "null"]);
            // Another type: a column of its own.
            assert_eq!(values(&lake, "app_Tick", "size_v2"), ["null", "null", "null", "ten"]);
            // A parameter with the name of a common column.
            assert_eq!(values(&lake, "app_Tick", "n_"), ["1", "1", "2", "3"]);
            // A major version: a table of its own.
            assert_eq!(values(&lake, "app_Tick_m2", "size"), ["true"]);
            assert_eq!(lake.rows("registry").len(), 5);
            assert_eq!(lake.rows("event_type").len(), 6);
            let params = lake.rows("event_param");
            let counters: BTreeSet<_> = params.iter().map(|row| (&*row["name"], &*row["counter"])).collect();
            assert_eq!(Vec::from_iter(counters), [("n", "true"), ("place", "false"), ("size", "false")]);
            if form.format == Format::Delta {
                let wanted =
                    "session lane thread n time_ns time size n_ place place__bytes size_v2 size__bytes";
                let found = columns(&lake, "app_Tick").join(" ");
                match form == BUCKETS {
                    false => assert_eq!(found, format!("{wanted} day host")),
                    true => assert_eq!(found, format!("host {wanted} day bucket")),
                }
            }
        }
    }
}

/// A registry that no file may have, such as the runtime's own, is read from a stream, and again
/// from the lake.
#[test]
fn the_registry_of_the_runtime_is_kept() {
    let reserved = V1.replace("\"app\"", "\"telemetry\"");
    assert!(telemetry_schema::parse(&reserved).is_err());
    let lake = TestLake::new(Format::Delta);
    let streams =
        [1, 2].map(|session| stream(session, &reserved, &[(1, &[Value::Unsigned(7), Value::Unsigned(1)])]));
    for stream in &streams {
        lake.ship("h1", stream);
        assert_eq!(lake.commit(), 1);
    }
    lake.check(&streams.iter().flat_map(|stream| events_of("h1", stream)).collect());
}
