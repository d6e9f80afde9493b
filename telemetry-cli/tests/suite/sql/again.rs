//! Loads of the same events, and of pieces of a stream.

use std::path::Path;

use super::{check, loaded, rows};
#[cfg(target_os = "linux")]
use crate::hostile_logs::logs;
use crate::run::Folder;
use crate::streams::{GC, blocks, events_blocks, gc, gc_run, lossy};

/// Returns the content of the tables of events and of lanes, except the numbers of logs.
fn content(database: &Path) -> Vec<String> {
    let mut all = rows(database, "SELECT time_ns, event, session, thread, time FROM event ORDER BY 1, 2, 4");
    all.extend(rows(
        database,
        "SELECT session, thread, fingerprint, bit, events, missing, excluded FROM lane ORDER BY 1, 2, 3, 4",
    ));
    all.extend(rows(
        database,
        "SELECT thread, from_ns, until_ns, missing, lost_pool, lost_reentrant FROM loss ORDER BY 1, 2, 3",
    ));
    all.extend(rows(database, "SELECT id, program, ended FROM session"));
    all
}

#[test]
fn the_same_stream_is_loaded_once() {
    let folder = loaded(&[("gc.tel", gc())]).with("copy.tel", gc()).with("twice.tel", [gc(), gc()].concat());
    let database = folder.path("telemetry.db");
    let before = content(&database);
    folder.check("sql_again", &["sql gc.tel", "sql copy.tel", "sql twice.tel", "sql - < gc.tel"]);
    assert_eq!(content(&database), before);
    assert_eq!(rows(&database, "SELECT count(*) FROM event_log"), ["1"]);

    let run = folder.run("sql --force copy.tel");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let forced = ["SELECT log_serial, count(*) FROM event GROUP BY 1", "SELECT name, events FROM event_log"];
    check(&database, &[(forced[0], &["1|23", "2|23"]), (forced[1], &["gc.tel|23", "copy.tel|23"])]);
    // The state of the lanes is as before, too.
    assert_eq!(folder.run("sql gc.tel").code, Some(0));
    check(&database, &[(forced[0], &["1|23", "2|23"])]);
}

/// All streams of a database have the same filter, since it knows only how far each was read.
#[test]
fn a_database_has_one_filter() {
    let folder = Folder::new().with("gc.tel", gc()).with("other.tel", gc_run(7).finish().unwrap());
    let database = folder.path("telemetry.db");
    folder.check(
        "sql_filters",
        &[
            "sql gc.tel --kind Pool --from 4us",
            "sql gc.tel --kind Pool --from 4us",
            "sql gc.tel",
            "sql other.tel --kind Pool",
            "sql other.tel --kind Pool --from 4us",
            "sql --kind Pool -i gc.txt",
        ],
    );
    let queries =
        ["SELECT event, count(*) FROM event GROUP BY 1", "SELECT name, events, filter FROM event_log"];
    let filter = "--kind Pool --from 4000";
    check(
        &database,
        &[
            (queries[0], &["PoolInit|4"]),
            (queries[1], &[&format!("gc.tel|2|{filter}"), &format!("other.tel|2|{filter}")]),
        ],
    );
    let replaced = folder.run("sql --delete gc.tel");
    assert_eq!(replaced.code, Some(0), "{}", replaced.stderr);
    check(&database, &[("SELECT count(*) FROM event", &["23"])]);
    // A filter that nothing passes is remembered too.
    let none = folder.run("sql -o none.db gc.tel --until 0ns");
    assert_eq!(none.code, Some(0), "{}", none.stderr);
    assert_eq!(folder.run("sql -o none.db gc.tel").code, Some(2));
}

/// Events in other systems' logs have no numbers. A run is recognized by its beginning.
#[cfg(target_os = "linux")]
#[test]
fn a_log_and_its_stream_are_one_run() {
    for (format, log, events) in logs() {
        let folder = Folder::new()
            .with("a.log", &log)
            .with("cut.log", &log[..log.len() - 12])
            .with("both.log", [&log[..], &log].concat());
        let sql = |database: &str, file: &str, code| {
            let run = folder.run(&format!("sql -o {database} {file}"));
            assert_eq!(run.code, Some(code), "{format}: {file}: {}", run.stderr);
            let count = rows(&folder.path(database), "SELECT count(*) FROM event");
            (run.stderr, count[0].parse::<usize>().unwrap())
        };
        let convert = folder.run("convert --to telemetry -o a.tel a.log");
        assert_eq!(convert.code, Some(0), "{format}: {}", convert.stderr);
        for (name, files) in
            [("log.db", ["a.log", "a.tel", "a.log"]), ("tel.db", ["a.tel", "a.log", "a.tel"])]
        {
            assert_eq!(sql(name, files[0], 0).1, events, "{format}");
            for file in &files[1..] {
                let (said, found) = sql(name, file, 0);
                assert!(said.contains(&format!("already has all events of `{file}`")), "{format}: {said}");
                assert_eq!(found, events, "{format}");
            }
        }
        // If some of a log is in the database, the whole log is not loaded again.
        let (_, some) = sql("cut.db", "cut.log", 1);
        assert!((1..events).contains(&some), "{format}: {some}");
        let (said, found) = sql("cut.db", "a.log", 1);
        assert!(said.contains(&format!("has {some} of the {events} events of `a.log`")), "{format}: {said}");
        assert_eq!(found, some, "{format}");
        let (said, found) = sql("log.db", "both.log", 1);
        assert!(said.contains(&format!("has {events} of the {} events of `both.log`", 2 * events)), "{said}");
        assert_eq!(found, events, "{format}");
        let (said, found) = sql("log.db", "cut.log", 0);
        assert!(said.contains("already has all events of `cut.log`"), "{format}: {said}");
        assert_eq!(found, events, "{format}");
    }
}

/// A file that grew, or segments in any order, with overlaps and repeated blocks: the result is
/// that of the whole stream.
#[test]
fn pieces_make_the_whole() {
    for (number, whole) in [gc(), lossy()].into_iter().enumerate() {
        let expected = content(&loaded(&[("x.tel", whole.clone())]).path("telemetry.db"));
        let parts = blocks(&whole);
        let facts: Vec<u8> = parts[..events_blocks(&parts)[0]].concat();
        let events = &parts[events_blocks(&parts)[0]..];
        let segment = |from: usize, until: usize| [&facts[..], &events[from..until].concat()].concat();
        let end = events.len();
        // The file grew.
        let mut ways = vec![
            vec![segment(0, end / 2), segment(0, end)],
            vec![segment(0, 1), segment(0, end - 1), segment(0, end)],
        ];
        // Or it is in segments, some of which overlap. No segment begins in the middle of a block.
        if number == 0 {
            ways.extend([
                vec![segment(0, end / 2), segment(end / 2, end)],
                vec![segment(end / 2, end), segment(0, end / 2)],
                vec![segment(end / 3, end), segment(0, 2 * end / 3)],
                (0..end).map(|number| segment(number, number + 1)).collect(),
                (0..end).rev().map(|number| segment(number, number + 1)).collect(),
            ]);
        }
        for (number, way) in ways.into_iter().enumerate() {
            let folder = Folder::new();
            let mut files: Vec<_> = (0..way.len()).map(|index| format!("piece{index}.tel")).collect();
            for (file, piece) in files.iter().zip(&way) {
                std::fs::write(folder.path(file), piece).unwrap();
            }
            // The last way, of single blocks from the end, is one command.
            if number == 6 {
                files = vec![files.join(" ")];
            }
            for files in files {
                let run = folder.run(&format!("sql {files}"));
                assert_eq!(run.code, Some(0), "way {number}, {files}: {}", run.stderr);
            }
            assert_eq!(content(&folder.path("telemetry.db")), expected, "way {number}");
            let run = folder.with("x.tel", &whole).run("sql --strict x.tel");
            let is_complete = expected.iter().any(|line| line.contains("gcbench|1"));
            assert_eq!(run.code == Some(0), is_complete, "way {number}: {}", run.stderr);
        }
    }
}

/// Text has no session; it is recognized by its content.
#[test]
fn the_same_text_is_loaded_once() {
    let folder = Folder::new().with("gc.tel", gc()).with("events.toml", GC);
    std::fs::write(folder.path("gc.txt"), folder.run("cnv gc.tel").stdout).unwrap();
    std::fs::write(folder.path("other.txt"), folder.run("cnv --kind Pool gc.tel").stdout).unwrap();
    folder.check(
        "sql_text",
        &[
            "sql --registry events.toml < gc.txt",
            "sql --registry events.toml -i gc.txt",
            "sql --registry events.toml --force -i gc.txt",
            "sql --registry events.toml -i other.txt",
            "sql -i gc.txt",
        ],
    );
    check(
        &folder.path("telemetry.db"),
        &[
            ("SELECT name, events FROM event_log", &["<stdin>|23", "gc.txt|23", "other.txt|3"]),
            ("SELECT session, count(*) FROM event GROUP BY 1", &["1|23", "2|23", "3|3"]),
            (
                "SELECT time, size, time_ns, thread FROM EVENT_PoolInit WHERE session = 3",
                &["1001000|4096||", "1004000|8192||", "1007000|16384||"],
            ),
        ],
    );
}

/// Text and stream give the same values, except digits that text does not have.
#[test]
fn text_gives_what_the_stream_gives() {
    let folder = loaded(&[("gc.tel", gc())]).with("events.toml", GC);
    let text = folder.run("cnv gc.tel").stdout;
    let run = folder.run_on("sql -o text.db --registry events.toml", &text);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for (table, columns) in [
        ("PoolInit", "*"),
        ("TraceEnd", "*"),
        ("Note", "*"),
        ("Everything", "u8, u16, u64, i8, i16, i32, i64, label, raw, step, access, four, some, steps"),
    ] {
        let columns = columns.replace('*', "pool, base, size, level").replace(
            "pool, base, size, level",
            match table {
                "PoolInit" => "pool, base, size, level, time",
                "TraceEnd" => "trace, live, emergency, time",
                _ => "text, time",
            },
        );
        let query = format!("SELECT {columns} FROM EVENT_{table} ORDER BY time");
        let (of_text, of_stream) =
            (rows(&folder.path("text.db"), &query), rows(&folder.path("telemetry.db"), &query));
        assert_eq!(of_text, of_stream, "{table}");
    }
}

/// Several runs in one database have their own numbers; `-d` leaves only the last.
#[test]
fn several_sessions_and_replacement() {
    let run = |session| gc_run(session).finish().unwrap();
    let folder = loaded(&[("a.tel", run(1)), ("b.tel", run(2))]).with("c.tel", run(3));
    let database = folder.path("telemetry.db");
    let sessions = "SELECT S.id, count(*), max(log_serial) FROM event AS E JOIN session AS S ON S.serial = E.session GROUP BY 1";
    check(&database, &[(sessions, &["0000000000000001|23|1", "0000000000000002|23|2"])]);
    assert_eq!(folder.run("sql --delete c.tel missing.tel").code, Some(2));
    check(&database, &[(sessions, &["0000000000000001|23|1", "0000000000000002|23|2"])]);
    assert_eq!(folder.run("sql --delete c.tel a.tel").code, Some(0));
    check(&database, &[(sessions, &["0000000000000001|23|2", "0000000000000003|23|1"])]);
    // Their space is freed, too.
    let with_big = folder.with("big.tel", super::killed::big());
    assert_eq!(with_big.run("sql big.tel").code, Some(0));
    assert_eq!(with_big.run("sql --delete c.tel").code, Some(0));
    let len = std::fs::metadata(with_big.path("telemetry.db")).unwrap().len();
    assert!(len < 1 << 20, "{len}");
}

#[test]
fn the_database_is_named_by_option_or_environment() {
    let folder = Folder::new().with("gc.tel", gc());
    let run = |args: &str, variable: &str| {
        crate::run::run(folder.command(args).env("TELEMETRY_DATABASE", variable), &[]).code
    };
    assert_eq!(run("sql gc.tel", "named.db"), Some(0));
    assert_eq!(run("sql gc.tel -o given.db", "unused.db"), Some(0));
    assert_eq!(run("sql gc.tel", ""), Some(0));
    let is_there = |name: &str| folder.path(name).exists();
    assert_eq!(
        ["named.db", "given.db", "unused.db", "telemetry.db"].map(is_there),
        [true, true, false, true]
    );
}

#[test]
fn it_says_what_it_does() {
    let folder = Folder::new().with("gc.tel", gc());
    folder.check("sql_says", &["sql -vv gc.tel", "sql -p --force gc.tel", "sql -r gc.tel"]);
}
