//! The rows are those that `telemetry sql` loads.

use std::collections::BTreeMap;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::Value;
use telemetry_testing::made::{Plan, make, registry};
use telemetry_testing::{mono, mps};

use crate::run::Folder;
use crate::streams::{blocks, events_blocks, gc, labeled, lossy, two_registries};

/// The tables of the events of a database: registry, event, and the name of the table.
fn tables(database: &Connection) -> Vec<[String; 3]> {
    let sql = "SELECT registry, name, table_name FROM event_type ORDER BY table_name";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map((), |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Returns the rows of a table in a database, sorted, with the values of some columns.
fn loaded(database: &Connection, table: &str, columns: &[String]) -> Vec<String> {
    let list = columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let mut statement = database.prepare(&format!("SELECT {list} FROM \"{table}\"")).unwrap();
    let mut rows = statement.query(()).unwrap();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let cells = (0..columns.len()).map(|column| match row.get_ref_unwrap(column) {
            ValueRef::Null => "-".to_string(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => format!("{:?}", number + 0.0),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        });
        found.push(cells.collect::<Vec<_>>().join("|"));
    }
    found.sort_unstable();
    found
}

/// Returns a float as the database has it: without NaN, and without a sign of zero.
fn as_real(value: &Value) -> String {
    let Value::String(text) = value else { return "-".to_string() };
    let number: f64 = text.parse().unwrap();
    if number.is_nan() { "-".to_string() } else { format!("{:?}", number + 0.0) }
}

/// Returns another value as the database has it: with a sign for all numbers.
fn as_stored(value: &Value) -> String {
    match value {
        Value::Null => "-".to_string(),
        Value::Bool(is_true) => i64::from(*is_true).to_string(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.to_string(),
            (None, Some(number)) => (number as i64).to_string(),
            (None, None) => panic!("{number}"),
        },
        Value::String(text) => match (text.as_str(), text.strip_prefix("0x")) {
            (_, Some(digits)) => (u64::from_str_radix(digits, 16).unwrap() as i64).to_string(),
            (text, None) => text.to_string(),
        },
        value => panic!("{value}"),
    }
}

/// Compares all tables of the events of a file, in streams and in Parquet files.
fn compare(name: &str, content: &[u8]) {
    let folder = Folder::new().with(name, content);
    let loading = folder.telemetry(&format!("sql -o db {name}"));
    assert!(matches!(loading.code, Some(0 | 1)), "{}", loading.stderr);
    let database = Connection::open(folder.path("db")).unwrap();
    let listed = folder.query("--tables", name);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let columns: BTreeMap<&str, Vec<&str>> = listed
        .stdout
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(table, columns)| (table, columns.split(", ").collect()))
        .collect();
    let mut compared = 0;
    for [registry, event, stored] in tables(&database) {
        let own = format!("{registry}.{event}");
        let Some((table, columns)) =
            [own.as_str(), &event].into_iter().find_map(|name| columns.get_key_value(name))
        else {
            // The database also has tables that the stream has not.
            assert_eq!(loaded(&database, &stored, &["time".to_string()]), [""; 0], "{own}");
            continue;
        };
        // Arrays are texts there, and strings that are not UTF-8 are bytes.
        let wanted: Vec<String> = columns
            .iter()
            .filter(|name| {
                let sql = format!("SELECT count(*) FROM pragma_table_info('{stored}') WHERE name = '{name}'");
                let is_stored: i64 = database.query_row(&sql, (), |row| row.get(0)).unwrap();
                is_stored > 0
                    && !matches!(**name, "session" | "time")
                    && !columns.contains(&&*format!("{name}__bytes"))
            })
            .map(ToString::to_string)
            .collect();
        let is_float = |name: &String| -> bool {
            let sql = "SELECT count(*) FROM event_param AS P JOIN event_type AS T ON P.type = T.code \
                       WHERE T.table_name = ? AND P.column_name = ? AND P.sort IN ('f32', 'f64', 'D')";
            database.query_row(sql, [&stored, name], |row| row.get(0)).unwrap()
        };
        // Readers of JSON round floats, and a float of 32 bits has fewer digits.
        let list = wanted.iter().map(|name| match is_float(name) {
            true => format!("CAST(CAST(\"{name}\" AS DOUBLE) AS VARCHAR) AS \"{name}\""),
            false => format!("\"{name}\""),
        });
        let list = list.collect::<Vec<_>>().join(", ");
        let answered = folder.query(&format!("SELECT {list} FROM \"{table}\""), &format!("--json {name}"));
        // Damage in other blocks does not matter here.
        assert!(answered.code == Some(0) || answered.code == loading.code, "{}", answered.stderr);
        let mut lists = Vec::new();
        let mut found: Vec<String> = Vec::new();
        let rows: Vec<Value> =
            answered.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (index, column) in wanted.iter().enumerate() {
            if rows.iter().any(|row| row[column].is_array()) {
                lists.push(index);
            }
        }
        let wanted: Vec<String> = wanted
            .iter()
            .enumerate()
            .filter(|(index, _)| !lists.contains(index))
            .map(|(_, name)| name.clone())
            .collect();
        for row in &rows {
            found.push({
                let cell = |column: &String| match is_float(column) {
                    true => as_real(&row[column]),
                    false => as_stored(&row[column]),
                };
                wanted.iter().map(cell).collect::<Vec<_>>().join("|")
            });
        }
        found.sort_unstable();
        assert_eq!(found, loaded(&database, &stored, &wanted), "{name}: {table} of {wanted:?}");
        compared += found.len();
        let sql = format!("SELECT count(*), min(time_ns), max(time_ns), sum(time_ns) FROM \"{table}\"");
        let expected: String = database
            .query_row(&sql.replace(*table, &stored), (), |row| {
                let cell = |index| {
                    row.get::<_, Option<i64>>(index)
                        .map(|cell| cell.map_or(String::new(), |cell| cell.to_string()))
                };
                Ok([cell(0)?, cell(1)?, cell(2)?, cell(3)?].join(","))
            })
            .unwrap();
        for threads in 1..4 {
            let answered = folder.query(&sql, &format!("--csv --threads {threads} {name}"));
            assert_eq!(answered.stdout.lines().nth(1), Some(&*expected), "{name}: {table}");
        }
    }
    assert!(compared > 0, "{name} has no rows");
}

#[test]
fn streams() {
    compare("gc.tel", &gc());
    compare("labels.tel", &labeled());
    compare("two.tel", &two_registries());
}

#[test]
fn streams_that_lost_events() {
    compare("lossy.tel", &lossy());
    let plan =
        Plan { seed: 5, sessions: 3, threads: 4, events: 900, lose: 7, block_size: 900, ..Plan::default() };
    compare("made.tel", &make(&registry(), &plan).stream);
}

#[test]
fn streams_that_are_damaged() {
    let whole = gc();
    let parts = blocks(&whole);
    let start = parts[..events_blocks(&parts)[1]].concat().len();
    let mut damaged = whole.clone();
    damaged[start + 150] ^= 1;
    compare("damaged.tel", &damaged);
    compare("cut.tel", &whole[..whole.len() - 200]);
}

#[test]
fn logs_of_other_systems() {
    compare("mps.log", &mps::small());
    compare("one.mlpd", &mono::one());
    let folder = Folder::new().with("gc.tel", gc());
    let run = folder.telemetry("convert --to ghc-eventlog gc.tel -o gc.eventlog");
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.stderr);
    compare("gc.eventlog", &std::fs::read(folder.path("gc.eventlog")).unwrap());
}
