//! Tables and their content.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use serde_json::Value as Json;
use telemetry_decode::writer::Lane;
use telemetry_decode::{Event, Order, RawStr, Reader, Value};
use telemetry_format::HEADER_LEN;
use telemetry_schema::Sort;
use telemetry_testing::mono;

use super::{MANUAL, check, loaded, rows};
use crate::streams::{
    GC, START, begun, blocks, events_blocks, gc, gc_registry, labeled, lossy, two_registries, with_header,
};

/// The MPS's own tables begin with these columns.
#[test]
fn tables_begin_as_those_of_the_mps() {
    let folder = loaded(&[("gc.tel", gc())]);
    let database = folder.path("telemetry.db");
    let columns = |table: &str, number: usize| {
        let all = rows(&database, &format!("SELECT name || ' ' || type FROM pragma_table_info('{table}')"));
        all[..number].join(", ")
    };
    let table = [
        ("event_kind", "name TEXT, description TEXT, enum INTEGER"),
        ("event_type", "name TEXT, code INTEGER, used INTEGER, kind INTEGER"),
        ("event_param", "type INTEGER, param_index INTEGER, sort TEXT, ident TEXT, doc TEXT"),
        ("event_log", "name TEXT, size INTEGER, modtime INTEGER, completed INTEGER, serial INTEGER"),
        ("EVENT_Intern", "stringId INTEGER, string TEXT, time INTEGER, log_serial INTEGER"),
        ("EVENT_Label", "address INTEGER, stringId INTEGER, time INTEGER, log_serial INTEGER"),
        (
            "EVENT_PoolInit",
            "pool INTEGER, base INTEGER, size INTEGER, level INTEGER, time INTEGER, log_serial INTEGER, \
             session INTEGER, thread INTEGER, time_ns INTEGER",
        ),
        ("EVENT_TraceStart", "trace INTEGER, why INTEGER, mortality REAL, time INTEGER, log_serial INTEGER"),
        ("EVENT_Note", "text TEXT, time INTEGER, log_serial INTEGER"),
        ("EVENT_Heartbeat", "time INTEGER, log_serial INTEGER"),
    ];
    for (name, expected) in table {
        assert_eq!(columns(name, expected.split(", ").count()), expected, "{name}");
    }
    let length = std::fs::metadata(folder.path("gc.tel")).unwrap().len();
    let log = format!("gc.tel|{length}|1|1|23");
    check(
        &database,
        &[
            ("SELECT name, size, completed, serial, events FROM event_log", &[&log]),
            ("SELECT name, enum FROM event_kind ORDER BY enum", &["Pool|1", "Trace|2", "Ref|4", "User|6"]),
            (
                "SELECT T.name, T.code, T.used, K.name FROM event_type AS T JOIN event_kind AS K ON T.kind = K.enum
                 WHERE T.name LIKE '%n%' ORDER BY code",
                &["PoolInit|16|1|Pool", "TraceEnd|33|1|Trace", "Everything|258|1|User", "Note|65535|1|User"],
            ),
            (
                "SELECT ident, sort, unit FROM event_param WHERE type = 16 ORDER BY param_index",
                &["pool|P|", "base|A|", "size|W|bytes", "level|U|"],
            ),
            (
                "SELECT name, number FROM enum_value WHERE type = 'TraceWhy' ORDER BY number",
                &["ClientRequest|1", "NurseryFull|2"],
            ),
            ("PRAGMA integrity_check", &["ok"]),
        ],
    );
}

/// Parameters with the mark `counter` have it in the database, too.
#[test]
fn counters_are_marked() {
    let counted = GC.replacen("unit = \"bytes\"", "unit = \"bytes\", counter = true", 1);
    let registry = telemetry_schema::parse(&counted).unwrap();
    let all: Vec<_> = registry.events.iter().flat_map(|event| &event.params).collect();
    let marked: Vec<_> =
        all.iter().filter(|param| param.is_counter).map(|param| param.name.as_str()).collect();
    let heartbeat = registry.events.iter().find(|event| event.name == "Heartbeat").unwrap();
    let (mut writer, lane) = begun(1, START, "gc", &registry);
    writer.event(lane, heartbeat.code, 10, &[]).unwrap();
    let folder = loaded(&[("gc.tel", writer.finish().unwrap())]);
    check(
        &folder.path("telemetry.db"),
        &[
            ("SELECT ident FROM event_param WHERE counter = 1", &marked),
            ("SELECT count(*) FROM event_param WHERE counter = 0", &[&(all.len() - 1).to_string()]),
            ("PRAGMA user_version", &["4"]),
        ],
    );
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sql.md");
    assert!(std::fs::read_to_string(docs).unwrap().contains("the version of these\ntables: 4."));
}

/// Counters whose events carry changes have their values in a table, the same as in `stats`.
#[test]
fn values_of_counters_have_a_table() {
    let folder = loaded(&[("mono.mlpd", mono::seventeen())]);
    let stats: Json = serde_json::from_slice(&folder.run("stats --json mono.mlpd").stdout).unwrap();
    let counters = stats["counters"].as_array().unwrap();
    assert!(counters.len() >= 2, "{counters:?}");
    let database = folder.path("telemetry.db");
    let found = rows(
        &database,
        "SELECT C.counter, S.id, ifnull(C.unit, ''), count(*), min(C.value), max(C.value), max(C.log_serial) \
         FROM counter_value AS C JOIN session AS S ON S.serial = C.session GROUP BY C.counter ORDER BY 1",
    );
    let expected = counters.iter().map(|counter| {
        let text = |member: &str| counter[member].as_str().unwrap();
        let (name, session, unit) = (text("counter"), text("session"), text("unit"));
        format!("{name}|{session}|{unit}|{}|{}|{}|1", counter["count"], counter["min"], counter["max"])
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
    let times = "SELECT count(*) FROM counter_value AS C WHERE NOT EXISTS \
         (SELECT 1 FROM event AS E WHERE E.session = C.session AND E.time_ns = C.time_ns)";
    check(&database, &[(times, &["0"])]);
    // The same log adds none.
    let all = rows(&database, "SELECT * FROM counter_value");
    assert_eq!(folder.run("sql mono.mlpd").code, Some(0));
    assert_eq!(rows(&database, "SELECT * FROM counter_value"), all);
    // Streams without such counters make no table.
    let without = "SELECT count(*) FROM sqlite_master WHERE name = 'counter_value'";
    check(&loaded(&[("gc.tel", gc())]).path("telemetry.db"), &[(without, &["0"])]);
}

/// Compares every value of every event with the decoder.
#[test]
fn values_are_what_the_decoder_gives() {
    for stream in [gc(), labeled(), lossy(), odd_strings()] {
        let folder = loaded(&[("x.tel", stream.clone())]);
        let mut expected = BTreeMap::<String, Vec<String>>::new();
        let mut events = Reader::from_slice(&stream).order(Order::Stream).events().unwrap();
        while let Some(event) = events.next().unwrap() {
            let table = match event.name() {
                // Labels are in the MPS's tables.
                "LabelAddress" => "EVENT_Label".to_string(),
                name => format!("EVENT_{name}"),
            };
            expected.entry(table).or_default().push(row(&event));
        }
        for (table, expected) in expected {
            let found = rows(&folder.path("telemetry.db"), &format!("SELECT * FROM {table} ORDER BY rowid"));
            assert_eq!(found, expected, "{table}");
        }
    }
}

/// Formats a row as docs/sql.md describes it.
fn row(event: &Event<'_>) -> String {
    let mut cells: Vec<_> = event.values().map(|value| cell(&value)).collect();
    cells.extend(
        [event.ticks() as i64, 1, 1, event.thread().into(), event.time_ns()].map(|number| number.to_string()),
    );
    cells.join("|")
}

fn cell(value: &Value<'_>) -> String {
    let float = |x: f64| match x {
        x if x.is_nan() => String::new(),
        x if x.is_infinite() => format!("{x}"),
        x => format!("{x:?}"),
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match *value {
        Value::F32(x) => float(x.into()),
        Value::F64(x) => float(x),
        Value::String(text) => std::str::from_utf8(text.0).map_or_else(|_| hex(text.0), str::to_string),
        Value::Bytes(bytes) => hex(bytes),
        Value::Array(array) => {
            let elements = array.iter().map(|element| match cell(&element) {
                nan if nan.is_empty() => "null".to_string(),
                element => element,
            });
            format!("[{}]", elements.collect::<Vec<_>>().join(","))
        }
        ref number => (number.as_i128().unwrap() as i64).to_string(),
    }
}

/// Makes strings that are not text, or unusual text.
fn odd_strings() -> Vec<u8> {
    let (mut writer, lane) = begun(9, 1, "", &gc_registry());
    let lane = Lane { thread: 4, ..lane };
    for (n, text) in [&b""[..], b"@@@", b"a\0b", b"'; DROP TABLE event_log; --", b"\"|\""].iter().enumerate()
    {
        writer.event(lane, 0xffff, 4_000_000_000 + n as u64, &[Value::String(RawStr(text))]).unwrap();
    }
    writer.end(9, 5_000_000_000).unwrap();
    // A program can write strings that are not text; our writer cannot.
    let stream = writer.finish().unwrap();
    let at = stream.windows(3).position(|bytes| bytes == b"@@@").unwrap();
    let parts = blocks(&stream);
    let number = events_blocks(&parts)[0];
    let mut patched = stream.clone();
    patched[at..at + 3].copy_from_slice(b"\xff\xfe\xfd");
    let start = parts[..number].concat().len();
    let payload = &patched[start + HEADER_LEN..start + parts[number].len()];
    let mut stream = with_header(&stream, number, |header| header.payload_crc = crc32c::crc32c(payload));
    stream[at..at + 3].copy_from_slice(b"\xff\xfe\xfd");
    stream
}

/// The bits of unsigned numbers stay, and the comparison in docs/sql.md is right.
#[test]
fn unsigned_numbers_survive() {
    let folder = loaded(&[("gc.tel", gc())]);
    check(
        &folder.path("telemetry.db"),
        &[
            ("SELECT live FROM EVENT_TraceEnd ORDER BY rowid LIMIT 1", &["-1"]),
            (
                "SELECT printf('%u', live) FROM EVENT_TraceEnd ORDER BY rowid LIMIT 1",
                &["18446744073709551615"],
            ),
            ("SELECT count(*) FROM EVENT_TraceEnd WHERE live = -1", &["1"]),
            (
                "SELECT printf('%u', live) FROM EVENT_TraceEnd ORDER BY live < 0, live",
                &["65535", "4294967295", "281474976710655", "18446744073709551615"],
            ),
            (
                "SELECT live FROM NAMED_TraceEnd ORDER BY time_ns",
                &["18446744073709551615", "281474976710655", "4294967295", "65535"],
            ),
            ("SELECT u64 FROM NAMED_Everything ORDER BY time_ns", &["0", "255", "18446744073709551615"]),
        ],
    );
}

#[test]
fn the_manual_s_label_query_runs_unchanged() {
    let folder = loaded(&[("labels.tel", labeled())]);
    let database = folder.path("telemetry.db");
    let mut found = rows(&database, MANUAL);
    found.sort();
    // One address had two names in turn; one has a name without a known string.
    assert_eq!(found, ["say \"\u{1b}[1m\"\n|20", "say \"\u{1b}[1m\"\n|5", "the nursery|20", "the nursery|5"]);
    check(
        &database,
        &[
            (
                "SELECT time_ns, pool, pool__label, base__label FROM NAMED_PoolInit ORDER BY time_ns",
                &["5|0x1000||", "20|0x1000|the nursery|", "2500|0x2000||say \"\u{1b}[1m\"\n"],
            ),
            (
                "SELECT label FROM NAMED_Everything ORDER BY time_ns LIMIT 3",
                &["the nursery", "say \"\u{1b}[1m\"\n", "3"],
            ),
            (
                "SELECT address, string FROM label ORDER BY time",
                &["4096|the nursery", "4096|say \"\u{1b}[1m\"\n", "8192|"],
            ),
            // The runtime's registry does not use the codes of the program's.
            (
                "SELECT name, code, number, registry FROM event_type WHERE code IN (16, 65538) ORDER BY code",
                &["PoolInit|16|16|gc", "Intern|65538|2|telemetry"],
            ),
        ],
    );
}

#[test]
fn names_stand_beside_numbers() {
    let folder = loaded(&[("gc.tel", gc())]);
    check(
        &folder.path("telemetry.db"),
        &[
            (
                "SELECT time_ns, thread_name, trace, why, mortality FROM NAMED_TraceStart ORDER BY time_ns LIMIT 3",
                &[
                    "500000|worker|0x7f002000|ClientRequest|0.45",
                    "1500000|worker|0x7f002001|NurseryFull|0.7833333333333333",
                    "2500000|worker|0x7f002002|3|1.1166666666666667",
                ],
            ),
            (
                "SELECT step, access FROM NAMED_Everything ORDER BY time_ns",
                &["Ahead|0", "Back|Read|Write", "5|Read|Write|Run|0x10"],
            ),
            (
                "SELECT event, kind, count(*) FROM event GROUP BY event ORDER BY count(*), event",
                &[
                    "Heartbeat|User|1",
                    "Everything|User|3",
                    "PoolInit|Pool|3",
                    "Note|User|4",
                    "RefFix|Ref|4",
                    "TraceEnd|Trace|4",
                    "TraceStart|Trace|4",
                ],
            ),
            ("SELECT value FROM EVENT_Everything, json_each(some) ORDER BY 1", &["-1", "1", "255"]),
            (
                "SELECT thread, name, tid FROM thread ORDER BY thread",
                &["1|main|4711", "2|worker|4712", "3|worker|4713"],
            ),
            (
                "SELECT id, program, started_ns, start_ticks, ticks_per_second, ended, json_extract(facts, '$.host') FROM session",
                &["000000000000002a|gcbench|1795240051123456789|1000000|1000000000.0|1|build"],
            ),
        ],
    );
}

#[test]
fn losses_have_their_place() {
    let folder = loaded(&[("lossy.tel", lossy())]);
    check(
        &folder.path("telemetry.db"),
        &[
            (
                "SELECT L.thread, K.name, from_ns, until_ns, missing, lost_pool, lost_reentrant, lost_sink, truncated
                 FROM loss AS L JOIN event_kind AS K ON K.enum = L.kind",
                &["9|User|1000|5000000|0|1200|30|0|4"],
            ),
            ("SELECT thread, bit, events, missing, excluded, lost_pool FROM lane", &["9|6|2|0|7000|1200"]),
            ("SELECT ended FROM session", &["0"]),
        ],
    );
}

/// Registries with a common code and a common name.
#[test]
fn registries_do_not_meet() {
    let folder = loaded(&[("two.tel", two_registries()), ("log.tel", log_event())]);
    check(
        &folder.path("telemetry.db"),
        &[
            ("SELECT url FROM EVENT_RequestBegin", &["/index"]),
            ("SELECT pool FROM EVENT_PoolInit", &["1"]),
            // Names that are taken: by the MPS's own table, and by another registry.
            ("SELECT time_, time FROM EVENT_other_Log", &["77|1"]),
            ("SELECT pool FROM EVENT_other_PoolInit", &["abc"]),
            (
                "SELECT name, table_name FROM event_type WHERE registry = 'other'",
                &["Log|EVENT_other_Log", "PoolInit|EVENT_other_PoolInit"],
            ),
            ("SELECT DISTINCT count(*) FROM event_type GROUP BY code", &["1"]),
        ],
    );
}

/// Makes a registry whose names are all taken.
fn log_event() -> Vec<u8> {
    const OTHER: &str = r#"
        [registry]
        name = "other"
        version = { major = 1, median = 0, minor = 0 }
        doc = "Names that others have too"
        [kinds]
        Any = { bit = 0, doc = "everything" }
        [[event]]
        name = "Log"
        code = 1
        kind = "Any"
        doc = "A time is told"
        params = [{ name = "time", sort = "u32", doc = "a time of its own" }]
        [[event]]
        name = "PoolInit"
        code = 0x10
        kind = "Any"
        doc = "Not the other one"
        params = [{ name = "pool", sort = "S", doc = "its name" }]
    "#;
    let (mut writer, lane) = begun(6, 1, "", &telemetry_schema::parse(OTHER).unwrap());
    writer.event(lane, 1, 1, &[Value::Unsigned(77)]).unwrap();
    writer.event(lane, 0x10, 2, &[Value::String(RawStr(b"abc"))]).unwrap();
    writer.end(6, 3).unwrap();
    writer.finish().unwrap()
}

/// Indexes are made, and used.
#[test]
fn indexes_serve_queries() {
    let folder = loaded(&[("labels.tel", labeled())]);
    let database = folder.path("telemetry.db");
    let plan = |query: &str| {
        let connection = Connection::open::<&Path>(&database).unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let steps = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("\n")
    };
    let table = [
        ("SELECT * FROM EVENT_PoolInit WHERE time_ns BETWEEN 5 AND 10", "USING INDEX EVENT_PoolInit_time_ns"),
        ("SELECT * FROM EVENT_PoolInit ORDER BY time_ns", "USING INDEX EVENT_PoolInit_time_ns"),
        ("SELECT * FROM NAMED_PoolInit", "USING INDEX EVENT_Label_address"),
        ("SELECT * FROM NAMED_PoolInit", "USING INDEX EVENT_Intern_label"),
    ];
    for (query, expected) in table {
        let plan = plan(query);
        assert!(plan.contains(expected), "{query}: {plan}");
    }
}

/// Every sort has a class, and the columns declare it.
#[test]
fn every_sort_has_a_column() {
    let folder = loaded(&[("gc.tel", gc())]);
    let found =
        rows(&folder.path("telemetry.db"), "SELECT name, type FROM pragma_table_info('EVENT_Everything')");
    for param in &gc_registry().event(0x102).unwrap().params {
        let class = match param.sort {
            _ if param.count != telemetry_schema::Count::One => "TEXT",
            Sort::F32 | Sort::F64 => "REAL",
            Sort::String => "TEXT",
            Sort::Bytes => "BLOB",
            _ => "INTEGER",
        };
        assert!(found.contains(&format!("{}|{class}", param.name)), "{}: {found:?}", param.name);
    }
}
