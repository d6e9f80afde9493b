//! The program: its forms of output, its messages, and Parquet files.

use telemetry_testing::made::{Plan, make, registry};

use crate::run::Folder;
use crate::streams::{blocks, events_blocks, gc, two_registries};

/// A table of queries that are wrong, and their messages.
#[test]
fn wrong_queries_have_help() {
    let folder = Folder::new().with("gc.tel", gc());
    let table = [
        ("SELEC 1", "line 1, column 1: expected an SQL statement, found SELEC"),
        ("SELECT size, FROM PoolInit p q", "line 1, column 30: expected end of statement, found q"),
        ("SELECT siz FROM PoolInit", "line 1, column 8: found no column `siz`, expected one of `session`"),
        ("SELECT siz FROM PoolInit", "; help: did you mean `size`?"),
        ("SELECT 1 FROM PoolInitt", "found no table `PoolInitt`, expected one of `"),
        ("SELECT 1 FROM PoolInitt", "; help: did you mean `PoolInit`?"),
        ("SELECT 1 FROM EVENT_PoolInit", "; help: did you mean `PoolInit`?"),
        ("SELECT 1 FROM app.What", "found no table `app.What`"),
        ("SELECT 1 FROM qwertz", "; help: `telemetry query --tables FILE` lists the tables"),
        ("DROP TABLE PoolInit", "found a statement that changes something, expected a query"),
        ("COPY PoolInit TO 'x.csv'", "found a statement that changes something, expected a query"),
        ("SET datafusion.execution.batch_size = 1", "found a statement that changes something"),
    ];
    for (sql, message) in table {
        let run = folder.query(sql, "gc.tel");
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{sql}: {}", run.stderr);
        assert!(run.stderr.starts_with("error: ") && run.stderr.contains(message), "{sql}: {}", run.stderr);
    }
}

#[test]
fn inputs_that_cannot_be_read() {
    let folder = Folder::new().with("text", "plain text\n").with("empty.tel", "");
    std::fs::create_dir(folder.path("folder")).unwrap();
    for (file, code, message) in [
        ("missing.tel", 2, "missing.tel"),
        ("text", 2, "expected a telemetry stream or a log"),
        ("folder", 2, "is a directory without Parquet files"),
        ("empty.tel", 1, "error: `empty.tel` is empty"),
    ] {
        let run = folder.query("SELECT count(*) FROM session", file);
        assert_eq!(run.code, Some(code), "{file}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{file}: {}", run.stderr);
    }
}

#[test]
fn forms() {
    let folder = Folder::new().with("gc.tel", gc());
    let sql = "SELECT pool, size, level, NULL AS \"a,b\", name FROM PoolInit JOIN thread USING (session, thread) \
               ORDER BY size LIMIT 1";
    let sql = sql.replace(", name FROM", ", thread.name FROM");
    let text = folder.query(&sql, "gc.tel");
    assert_eq!(
        text.stdout, "      pool  size  level  a,b  name\n0x7f001000  4096      0       main\n",
        "{}",
        text.stderr
    );
    let csv = folder.query(&sql, "--csv gc.tel");
    assert_eq!(csv.stdout, "pool,size,level,\"a,b\",name\n0x7f001000,4096,0,,main\n");
    let json = folder.query(&sql, "--json gc.tel");
    let line = "{\"pool\":\"0x7f001000\",\"size\":4096,\"level\":0,\"a,b\":null,\"name\":\"main\"}\n";
    assert_eq!(json.stdout, line);
    let file = folder.query(&sql, "--json -o rows.json gc.tel");
    assert_eq!((file.code, file.stdout.as_str()), (Some(0), ""), "{}", file.stderr);
    assert_eq!(std::fs::read_to_string(folder.path("rows.json")).unwrap(), line);
    // A trace is not replaced, and a failed query leaves the old file.
    assert_eq!(folder.query(&sql, "-o gc.tel gc.tel").code, Some(2));
    assert_eq!(folder.query("SELECT 1 / 0", "-o rows.json gc.tel").code, Some(2));
    assert_eq!(std::fs::read_to_string(folder.path("rows.json")).unwrap(), line);
    assert_eq!(std::fs::read(folder.path("gc.tel")).unwrap(), gc());
}

#[test]
fn damage_is_told_and_makes_the_code_1() {
    let whole = gc();
    let parts = blocks(&whole);
    let start = parts[..events_blocks(&parts)[1]].concat().len();
    let mut damaged = whole.clone();
    damaged[start + 150] ^= 1;
    let folder = Folder::new().with("gc.tel", whole).with("damaged.tel", damaged);
    let run = folder.query("SELECT count(*) FROM damage", "damaged.tel");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "count(*)\n       1\n"), "{}", run.stderr);
    assert!(run.stderr.starts_with("error: `damaged.tel`: bytes "), "{}", run.stderr);
    let run = folder.query("SELECT count(*) FROM PoolInit, session", "gc.tel");
    assert_eq!(run.code, Some(0));
    assert!(
        run.stderr.contains("PoolInit: complete: 3 events, 20 filtered out; 14 blocks"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("session: complete: 23 events; headers of 14 blocks"), "{}", run.stderr);
    let quiet = folder.query("SELECT count(*) FROM PoolInit", "--quiet gc.tel");
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_limit_ends_the_reads_and_makes_nothing_missing() {
    let plan = Plan { events: 600_000, threads: 2, block_size: 60_000, ..Plan::default() };
    let folder = Folder::new().with("long.tel", make(&registry(), &plan).stream);
    let run = folder.query("SELECT 'row' AS row FROM Made LIMIT 3", "--threads 1 --strict long.tel");
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "row\nrow\nrow\nrow\n"), "{}", run.stderr);
    let rows = run.stderr.strip_prefix("read in part: the query needed no more than ").unwrap_or(&run.stderr);
    assert!(rows.ends_with(" rows\n") && rows.lines().count() == 1, "{}", run.stderr);
}

#[test]
fn a_pipe_is_read_like_a_file() {
    let folder = Folder::new().with("gc.tel", gc());
    let sql = "SELECT * FROM PoolInit ORDER BY time_ns";
    let [file, pipe] = [folder.query(sql, "gc.tel"), folder.query_on(sql, "-", "gc.tel")];
    assert_eq!((pipe.code, pipe.stdout), (Some(0), file.stdout), "{}", pipe.stderr);
}

#[test]
fn tables_of_two_registries() {
    let folder = Folder::new().with("two.tel", two_registries());
    let listed = folder.query("--tables", "two.tel").stdout;
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(": ").next()).collect();
    let name = names.iter().find(|name| name.contains('.')).unwrap();
    let quoted = folder.query(&format!("SELECT count(*) FROM \"{name}\""), "two.tel");
    let plain = folder.query(&format!("SELECT count(*) FROM {}", name.to_lowercase()), "two.tel");
    assert_eq!((quoted.code, &quoted.stdout), (Some(0), &plain.stdout), "{}", plain.stderr);
}

/// Writes the Parquet files of a stream. Returns false if the command has no such feature.
pub(crate) fn tables(folder: &Folder, stream: &str) -> bool {
    let run = folder.telemetry(&format!("parquet -d tables {stream}"));
    if run.code == Some(0) {
        return true;
    }
    assert!(run.stderr.contains("has no feature `parquet`"), "{}", run.stderr);
    assert!(std::env::var_os("TELEMETRY_COMMAND").is_none(), "the command has no feature `parquet`");
    eprintln!("SKIPPED: the command has no feature `parquet`");
    false
}

#[test]
fn parquet_files_have_the_rows_of_their_stream() {
    let folder = Folder::new().with("gc.tel", gc());
    if !tables(&folder, "gc.tel") {
        return;
    }
    let listed = folder.query("--tables", "tables").stdout;
    for line in listed.lines() {
        let (table, columns) = line.split_once(": ").unwrap();
        let columns: Vec<String> = columns
            .split(", ")
            .filter(|name| !matches!(*name, "time" | "started"))
            .map(|name| format!("\"{name}\""))
            .collect();
        let sql = format!("SELECT {} FROM \"{table}\"", columns.join(", "));
        let [mut stream, mut files] = ["gc.tel", "tables"].map(|from| {
            let run = folder.query(&sql, &format!("--csv {from}"));
            assert_eq!(run.code, Some(0), "{sql}: {}", run.stderr);
            // Files do not say what is an address.
            run.stdout.lines().map(decimal).collect::<Vec<_>>()
        });
        stream.sort_unstable();
        files.sort_unstable();
        assert_eq!(stream, files, "{table}");
        let sql = format!("SELECT count(*) FROM \"{table}\"");
        let [one, both] = ["gc.tel", "gc.tel tables"].map(|from| {
            let run = folder.query(&sql, &format!("--csv {from}"));
            run.stdout.lines().nth(1).unwrap_or_else(|| panic!("{}", run.stderr)).parse::<u64>().unwrap()
        });
        assert_eq!(both, 2 * one, "{table}");
    }
    let time = |from: &str| folder.query("SELECT max(time) FROM PoolInit", &format!("--csv {from}")).stdout;
    let [exact, rounded] = ["gc.tel", "tables"].map(time);
    assert_eq!(exact.lines().last().unwrap(), "2026-11-21T05:47:31.123463789Z");
    assert_eq!(rounded.lines().last().unwrap(), "2026-11-21T05:47:31.123463000Z");
}

/// Returns a line with decimal numbers in place of addresses.
fn decimal(line: &str) -> String {
    let field = |field: &str| match field.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16)) {
        Some(Ok(number)) => number.to_string(),
        _ => field.to_string(),
    };
    line.split(',').map(field).collect::<Vec<_>>().join(",")
}

/// A condition selects events for all tables, and a wrong one is told before anything is read.
#[test]
fn conditions() {
    let folder = Folder::new().with("gc.tel", gc());
    assert_eq!(folder.telemetry("parquet -d tables gc.tel").code, Some(0));
    for (sql, args, code, stdout, says) in [
        (
            "SELECT count(*) AS n FROM PoolInit",
            "size>4k gc.tel",
            0,
            "n\n2\n",
            "complete: 2 events, 21 filtered out;",
        ),
        (
            "SELECT sum(events) AS n FROM lane",
            "size>4k gc.tel",
            0,
            "n\n2\n",
            "complete: 2 events, 21 filtered out;",
        ),
        (
            "SELECT count(*) AS n FROM PoolInit WHERE level > 1",
            "size>4k gc.tel",
            0,
            "n\n1\n",
            "complete: 2 events",
        ),
        ("SELECT 1 FROM PoolInit", "siez>4k gc.tel", 2, "", "in --where: no parameter `siez`"),
        (
            "SELECT 1 FROM span",
            "duration>5 gc.tel",
            2,
            "",
            "`duration` is a field of spans, but this condition is one",
        ),
        ("SELECT 1 FROM session", "siez>4k gc.tel", 2, "", "help: did you mean `size`?"),
        ("--tables", "size>4k gc.tel", 2, "", "'--tables' cannot be used with '--where"),
        ("SELECT 1 FROM PoolInit", "size> gc.tel", 2, "", "the condition ends here, expected"),
        ("SELECT 1 FROM PoolInit", "size>4k tables", 2, "", "not rows of Parquet files; help: use WHERE"),
    ] {
        let run = folder.query(sql, &format!("--where {args}"));
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), stdout), "{sql} {args}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{sql} {args}: {}", run.stderr);
    }
}
