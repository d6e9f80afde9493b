//! Measures how fast `telemetry sql` fills a database, compared with a bare loop of prepared
//! INSERTs of the same rows: `cargo bench -p telemetry-cli --bench sql`.
//!
//! Both write the same rows to a new file in one committed transaction. The command also reads and
//! decodes the stream, makes indexes and views, and is measured as a whole process.

#![allow(missing_docs, clippy::print_stdout)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use telemetry_decode::writer::Writer;
use telemetry_decode::{Facts, Order, Reader};

use telemetry_testing::work::{self, Made};

const EVENTS: u64 = 1_000_000;
const ROUNDS: usize = 5;

/// The share of the bare loop's rate that the command must reach.
const GOAL: f64 = 0.6;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let stream = dir.path().join("work.tel");
    std::fs::write(&stream, make()?)?;
    let rows = rows(&stream)?;
    let database = dir.path().join("work.db");
    let mut best = [Duration::MAX; 4];
    for _ in 0..ROUNDS {
        let times = [
            bare(&rows, &database, false, false)?,
            bare(&rows, &database, true, false)?,
            bare(&rows, &database, false, true)?,
            command(&stream, &database)?,
        ];
        for (best, time) in best.iter_mut().zip(times) {
            *best = time.min(*best);
        }
    }
    let rate = |time: Duration| EVENTS as f64 / time.as_secs_f64() / 1e6;
    let names =
        ["bare loop", "bare loop, parameters as a tuple", "bare loop, then an index", "telemetry sql"];
    for (name, time) in names.iter().zip(best) {
        println!("{name:34} {:6.2} M rows/s", rate(time));
    }
    let ratio = rate(best[3]) / rate(best[0]);
    let verdict = if ratio >= GOAL { "reached" } else { "MISSED" };
    println!("telemetry sql / bare loop: {ratio:.2}, goal {GOAL}: {verdict}");
    Ok(())
}

/// Makes a stream of four threads, each with its own blocks.
fn make() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut facts = Facts::default();
    facts.set("program", "work");
    facts.set("clock", "os");
    let writer = Writer::new(Vec::new()).block_size(64 << 10);
    work::write(writer, &facts, EVENTS, 1, |i| Made {
        ticks: i * 23,
        values: [
            0x7f00_0000_0000 + i * 7919 % 1_000_003 * 64,
            0x10_0000_0000 + i * 48,
            16 + i * 31 % 4096,
            i % 4,
        ],
    })
}

/// Returns the rows that the command makes of the stream.
fn rows(stream: &Path) -> Result<Vec<[i64; 9]>, Box<dyn std::error::Error>> {
    let mut events = Reader::open(stream)?.order(Order::Stream).events()?;
    let mut rows = Vec::new();
    while let Some(event) = events.next()? {
        let mut row = [0; 9];
        for (cell, value) in row.iter_mut().zip(event.values()) {
            *cell = value.as_u64().unwrap_or_default() as i64;
        }
        row[4..].copy_from_slice(&[event.ticks() as i64, 1, 1, event.thread().into(), event.time_ns()]);
        rows.push(row);
    }
    assert_eq!(rows.len() as u64, EVENTS);
    Ok(rows)
}

fn bare(
    rows: &[[i64; 9]],
    database: &Path,
    tuple: bool,
    index: bool,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let _ = std::fs::remove_file(database);
    let start = Instant::now();
    let connection = Connection::open(database)?;
    connection.execute_batch(
        "PRAGMA cache_size = -32768;
         CREATE TABLE EVENT_Allocate (pool INTEGER, at INTEGER, size INTEGER, level INTEGER, time INTEGER,
         log_serial INTEGER, session INTEGER, thread INTEGER, time_ns INTEGER);
         BEGIN IMMEDIATE",
    )?;
    let mut insert = connection.prepare("INSERT INTO EVENT_Allocate VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for row in rows {
        if tuple {
            insert.execute(*row)?;
            continue;
        }
        for (index, cell) in row.iter().enumerate() {
            insert.raw_bind_parameter(index + 1, *cell)?;
        }
        insert.raw_execute()?;
    }
    drop(insert);
    if index {
        connection.execute_batch("CREATE INDEX EVENT_Allocate_time_ns ON EVENT_Allocate (time_ns)")?;
    }
    connection.execute_batch("COMMIT")?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(start.elapsed())
}

fn command(stream: &Path, database: &Path) -> Result<Duration, Box<dyn std::error::Error>> {
    let _ = std::fs::remove_file(database);
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry"));
    command.arg("sql").arg(stream).arg("-o").arg(database).stderr(Stdio::null());
    let status = command.status()?;
    let time = start.elapsed();
    assert!(status.success());
    let count = "SELECT count(*), (SELECT count(*) FROM sqlite_master WHERE name = 'EVENT_Allocate_time_ns') FROM EVENT_Allocate";
    let (rows, indexes): (i64, i64) =
        Connection::open(database)?.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    assert_eq!((rows, indexes), (EVENTS as i64, 1));
    Ok(time)
}
