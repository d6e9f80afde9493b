//! `sql`: its databases, read by two SQLites: the one that it is built with and, if there is a
//! `python3`, Python's.

mod again;
pub(crate) mod bad;
mod docs;
pub(crate) mod killed;
mod tables;
mod versions;

use std::path::Path;
use std::process::Command;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::run::{Folder, Run};

/// The query in the MPS's manual, unchanged.
pub(super) const MANUAL: &str = "
    /* Pool name and creation time */
    SELECT I.string, P.time
    FROM EVENT_PoolInit AS P,
         EVENT_Label AS L,
         EVENT_Intern AS I
    WHERE I.stringId = L.stringId AND L.address = P.pool;
";

/// Runs queries on a database and compares each result with the expected lines. Cells are separated
/// by `|`.
#[track_caller]
pub(super) fn check(database: &Path, queries: &[(&str, &[&str])]) {
    for (query, expected) in queries {
        assert_eq!(rows(database, query), *expected, "{query}");
    }
}

/// Returns the rows of a query as lines of text.
#[track_caller]
pub(super) fn rows(database: &Path, query: &str) -> Vec<String> {
    let found = rows_here(database, query);
    if let Some(found_by_python) = rows_by_python(database, query) {
        assert_eq!(found, found_by_python, "Python reads something else: {query}");
    }
    found
}

#[track_caller]
fn rows_here(database: &Path, query: &str) -> Vec<String> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let mut statement = connection.prepare(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap_or_else(|error| panic!("{query}: {error}")) {
        let cells: Vec<_> = (0..columns).map(|column| cell(row.get_ref(column).unwrap())).collect();
        lines.push(cells.join("|"));
    }
    lines
}

fn cell(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) if number.is_infinite() => {
            format!("{}inf", if number < 0.0 { "-" } else { "" })
        }
        ValueRef::Real(number) => format!("{number:?}"),
        ValueRef::Text(text) => std::str::from_utf8(text).expect("text in the database is UTF-8").to_string(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Returns what Python's own SQLite reads; none without a `python3`.
fn rows_by_python(database: &Path, query: &str) -> Option<Vec<String>> {
    const SCRIPT: &str = r"
import sqlite3, sys
def cell(value):
    if value is None: return ''
    if isinstance(value, bytes): return value.hex()
    return str(value)
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2].strip().rstrip(';')):
    sys.stdout.buffer.write(('|'.join(map(cell, row)) + '\x1e').encode())
";
    let output = Command::new("python3").args(["-c", SCRIPT]).arg(database).arg(query).output();
    let Ok(output) = output else {
        eprintln!("SKIPPED: no python3, so that Python's SQLite cannot be compared");
        return None;
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{query}: {stderr}");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.split_terminator('\x1e').map(str::to_string).collect())
}

/// Makes a database of streams, which all load without a complaint.
#[track_caller]
pub(super) fn loaded(streams: &[(&str, Vec<u8>)]) -> Folder {
    let folder = streams.iter().fold(Folder::new(), |folder, (name, stream)| folder.with(name, stream));
    let names: Vec<_> = streams.iter().map(|(name, _)| *name).collect();
    let Run { stderr, code, .. } = folder.run(&format!("sql {}", names.join(" ")));
    assert_eq!(code, Some(0), "{stderr}");
    folder
}
