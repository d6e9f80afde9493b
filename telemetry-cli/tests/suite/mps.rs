//! Logs of the MPS, read as the MPS's four programs do, also under their names.

use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use crate::run::{Folder, Run, run};
use telemetry_testing::mps::{self as made, Is::N, Is::S, beginning, event, init_of, sync};
use telemetry_testing::reference;

fn folder() -> Folder {
    Folder::new().with("mpsio.log", made::small())
}

#[track_caller]
fn assert_same(found: &[u8], expected: &[u8], what: &str) {
    let (found, expected) = (String::from_utf8_lossy(found), String::from_utf8_lossy(expected));
    for (at, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{what}, line {}", at + 1);
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}

/// The output of `mpseventtxt` for the small log, written by hand.
const TXT: &str = "\
00000000000003E8 0021 Intern              stringId:0000000000000001 string:\"@(#)Ravenbrook MPS, product.mps, release/1.118.0, platform.lii6gc, variety.asserted.logging.nonstats, compiled on Jan  1 2025 12:00:00\" 
00000000000003F2 001D EventInit           major:2 median:0 minor:0 maxCode:92 maxNameLen:19 wordWidth:64 clocksPerSec:00000000000F4240 
00000000000003FC 001C EventClockSync      clock:00000000000003E8 
0000000000000834 0029 PauseTimeSet        arena:0000000000000007 pauseTime:   0.100 
0000000000000899 0021 Intern              stringId:0000000000000002 string:\"a \\\"pool\\\" \\\\ of mine\" 
000000000000089A 0023 LabelPointer        pointer:0000550000002000[\"a \\\"pool\\\" \\\\ of mine\"] stringId:0000000000000002 
00000000000008FC 002D PoolInit            pool:0000550000002000[\"a \\\"pool\\\" \\\\ of mine\"] arena:0000000000000007 poolClass:0000000000000009 serial:3 
00000000000008FD 0034 PoolInitMVFF        pool:0000550000002000[\"a \\\"pool\\\" \\\\ of mine\"] extendBy:0000000000010000 avgSize:0000000000000020 align:0000000000000008 slotHigh:False arenaHigh:True firstFit:True 
0000000000000960 002A PoolAlloc           pool:0000550000002000[\"a \\\"pool\\\" \\\\ of mine\"] pReturn:00007F0000001000 size:0000000000000020 
00000000000009C4 0026 MessagesExist       
0000000000000B54 002A PoolAlloc           pool:0000550000002000[\"a \\\"pool\\\" \\\\ of mine\"] pReturn:00007F0000001020 size:FFFFFFFFFFFFFFFF 
0000000000000BB8 001C EventClockSync      clock:00000000000007D0 
0000000000000C1C 000D ArenaPollBegin      arena:0000000000000007 
0000000000000DAC 002A PoolAlloc           pool:0000550000002000[\"a \\\"pool\\\" \\\\ of mine\"] pReturn:00007F0000001040 size:0000000000000030 
0000000000000E10 0022 Label               address:00007F0000001000[\"a \\\"pool\\\" \\\\ of mine\"] stringId:0000000000000002 
0000000000000F3C 000E ArenaPollEnd        arena:0000000000000007 workWasDone:True 
0000000000000FA0 001C EventClockSync      clock:0000000000000BB8 
0000000000001004 002B PoolFinish          pool:0000550000002000[\"a \\\"pool\\\" \\\\ of mine\"] arena:0000000000000007 
0000000000001068 002C PoolFree            pool:0000550000002000[\"a \\\"pool\\\" \\\\ of mine\"] old:00007F0000001000[\"a \\\"pool\\\" \\\\ of mine\"] size:0000000000000020 
0000000000001388 001C EventClockSync      clock:0000000000000FA0 
";

#[test]
fn text() {
    let folder = folder();
    let cnv = folder.run("cnv -f mpsio.log");
    assert_same(&cnv.stdout, made::SMALL.as_bytes(), "cnv");
    assert_eq!(cnv.code, Some(0), "{}", cnv.stderr);
    let txt = folder.run("txt mpsio.log");
    assert_same(&txt.stdout, TXT.as_bytes(), "txt");
    assert_eq!(txt.code, Some(0), "{}", txt.stderr);
    // The other way is by sorted text, in which events have no names.
    let mut lines: Vec<&str> = made::SMALL.lines().collect();
    lines.sort();
    let sorted: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let txt = folder.run_on("txt", sorted.as_bytes());
    assert_same(&txt.stdout, TXT.as_bytes(), "txt of text");
    assert_eq!(txt.code, Some(0), "{}", txt.stderr);
}

#[test]
fn unknown_events_and_line_feeds() {
    let mut unknown = event("PoolFinish", 2_000, &[N(1), N(2)]);
    unknown[..2].copy_from_slice(&300_u16.to_le_bytes());
    let feed = event("Intern", 2_100, &[N(9), S("two\nlines")]);
    let folder = Folder::new().with("u.log", [beginning(1_000), unknown, feed, sync(3_000, 2_000)].concat());
    let cnv = folder.run("cnv u.log");
    let text = String::from_utf8(cnv.stdout).unwrap();
    assert!(text.ends_with(
        "\n00000000000007D0  12C\n0000000000000834   21 9 \"two\nlines\"\n0000000000000BB8   1C 7D0\n"
    ));
    assert_eq!(cnv.code, Some(0), "{}", cnv.stderr);
    let txt = String::from_utf8(folder.run("txt u.log").stdout).unwrap();
    assert!(txt.contains("\n00000000000007D0 012C [Unknown]           Unknown event.\n"), "{txt}");
    assert!(txt.contains("string:\"two\\nlines\" \n"), "{txt}");
    assert_eq!(
        folder.run_on("txt", b"00000000000007D0  12C\n").stdout,
        b"00000000000007D0 012C [Unknown]           Unknown event.\n"
    );
}

/// Returns the number of rows by table, and the first event's rows.
fn rows(database: &Path) -> Vec<(String, i64)> {
    let connection = Connection::open(database).unwrap();
    let mut tables = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'EVENT%' ORDER BY name")
        .unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let count = |table: String| {
        let rows = connection.query_row(&format!("SELECT count(*) FROM \"{table}\""), [], |row| row.get(0));
        (table, rows.unwrap())
    };
    tables.map(|table| count(table.unwrap())).collect()
}

fn column(database: &Path, select: &str) -> Vec<String> {
    let connection = Connection::open(database).unwrap();
    let mut statement = connection.prepare(select).unwrap();
    let found = statement.query_map([], |row| row.get::<_, rusqlite::types::Value>(0)).unwrap();
    found.map(|value| format!("{:?}", value.unwrap())).collect()
}

#[test]
fn database() {
    let folder = folder();
    let database = folder.path("mps.db");
    let loaded = folder.run("sql -o mps.db mpsio.log");
    assert_eq!(loaded.code, Some(0), "{}", loaded.stderr);
    let rows = rows(&database);
    let of = |table: &str| rows.iter().find(|(name, _)| name == table).map(|(_, rows)| *rows);
    let expected = [
        ("EVENT_PoolAlloc", 3),
        ("EVENT_Intern", 2),
        ("EVENT_Label", 1),
        ("EVENT_LabelPointer", 1),
        ("EVENT_EventClockSync", 4),
        ("EVENT_SegAlloc", 0),
        ("event_kind", 7),
        ("event_type", 92),
        ("event_param", 317),
        ("event_log", 1),
    ];
    for (table, rows) in expected {
        assert_eq!(of(table), Some(rows), "{table}");
    }
    // The real program keeps the opening quote and the backslashes, and truncates words from 2^63
    // on.
    assert_eq!(
        column(&database, "SELECT string FROM EVENT_Intern WHERE stringId = 2"),
        ["Text(\"a \\\"pool\\\" \\\\ of mine\")"]
    );
    assert_eq!(column(&database, "SELECT size FROM EVENT_PoolAlloc WHERE time = 2900"), ["Integer(-1)"]);
    assert_eq!(
        column(&database, "SELECT ident FROM event_param WHERE type = 73 AND param_index = 1"),
        ["Text(\"refIO\")"]
    );
    // Events that are there are not loaded again.
    let again = folder.run("sql -o mps.db mpsio.log");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stderr.contains("already has all events of `mpsio.log`"), "{}", again.stderr);
    assert_eq!(self::rows(&database), rows);
    let forced = folder.run("sql --force -o mps.db mpsio.log");
    assert_eq!(forced.code, Some(0), "{}", forced.stderr);
    assert_eq!(column(&database, "SELECT count(*) FROM EVENT_PoolAlloc"), ["Integer(6)"]);
    assert_eq!(column(&database, "SELECT count(*) FROM event_param"), ["Integer(317)"]);
}

/// Runs the command under another name in a folder.
#[cfg(unix)]
fn run_as(folder: &Folder, name: &str, args: &str, input: &[u8]) -> Run {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(env!("CARGO_BIN_EXE_telemetry"));
    command.arg0(name).args(args.split_whitespace()).current_dir(folder.path(""));
    for variable in
        ["MPS_TELEMETRY_FILENAME", "MPS_TELEMETRY_DATABASE", "TELEMETRY_FILENAME", "TELEMETRY_DATABASE"]
    {
        command.env_remove(variable);
    }
    run(&mut command, input)
}

#[cfg(unix)]
#[test]
fn under_the_names_of_the_mpss_programs() {
    let folder = folder();
    let cnv = run_as(&folder, "/usr/bin/mpseventcnv", "", &[]);
    assert_same(&cnv.stdout, made::SMALL.as_bytes(), "mpseventcnv");
    assert_eq!((cnv.stderr.as_str(), cnv.code), ("", Some(0)));
    let cnv = run_as(&folder, "mpseventcnv", "-f -", &made::small());
    assert_same(&cnv.stdout, made::SMALL.as_bytes(), "mpseventcnv of standard input");
    let mut lines: Vec<&str> = made::SMALL.lines().collect();
    lines.sort();
    let sorted = lines.join("\n") + "\n";
    let txt = run_as(&folder, "mpseventtxt", "", sorted.as_bytes());
    assert_same(&txt.stdout, TXT.as_bytes(), "mpseventtxt");
    assert_eq!((txt.stderr.as_str(), txt.code), ("", Some(0)));
    let sql = run_as(&folder, "mpseventsql", "", sorted.as_bytes());
    assert_eq!((sql.code, sql.stdout.len()), (Some(0), 0), "{}", sql.stderr);
    assert_eq!(sql.stderr, "mpseventsql: loaded 20 events of standard input into `mpsevent.db` as log 1\n");
    assert_eq!(column(&folder.path("mpsevent.db"), "SELECT count(*) FROM EVENT_PoolAlloc"), ["Integer(3)"]);
    let py = run_as(&folder, "mpseventpy", "", &[]);
    assert!(String::from_utf8(py.stdout).unwrap().contains("\n__version__ = 2, 0, 0\n"));
    assert_eq!((py.stderr.as_str(), py.code), ("", Some(0)));
    for (name, args, code, said) in [
        ("mpseventsql", "-dz", 1, "Usage: mpseventsql [-i textlog] [-o database] [-dfprtv] [-h]\n"),
        ("mpseventcnv", "-f none.log", 1, "mpseventcnv: cannot read `none.log`"),
        ("mpseventsql", "-x", 1, "mpseventsql: unknown option -x\n"),
    ] {
        let run = run_as(&folder, name, args, &[]);
        assert_eq!((run.code, run.stdout.len()), (Some(code), 0), "{name} {args}");
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    // Requested help goes to standard output.
    for (name, usage) in [
        ("mpseventcnv", "[-f logfile] [-h]"),
        ("mpseventtxt", "[-l textlog] [-h]"),
        ("mpseventsql", "[-i textlog] [-o database] [-dfprtv] [-h]"),
        ("mpseventpy", "[-h]"),
    ] {
        for help in ["-h", "-?"] {
            let run = run_as(&folder, name, help, &[]);
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{name} {help}");
            assert_eq!(String::from_utf8_lossy(&run.stdout), format!("Usage: {name} {usage}\n"));
        }
    }
}

#[test]
fn other_versions_and_damage() {
    let other = [init_of(10, [2, 1, 0, 99, 19, 64, 1_000_000]), sync(20, 1), sync(30, 2)].concat();
    let mut cut = made::small();
    cut.truncate(cut.len() - 9);
    let folder = Folder::new().with("other.log", other).with("cut.log", cut);
    let refused = folder.run("cnv other.log");
    assert_eq!((refused.code, refused.stdout.len()), (Some(1), 0));
    assert!(
        refused.stderr.contains("EventInit at 0 says events of version 2.1.0 of the MPS"),
        "{}",
        refused.stderr
    );
    let lenient = folder.run("cnv --lenient other.log");
    assert_eq!((lenient.code, lenient.stdout.iter().filter(|byte| **byte == b'\n').count()), (Some(0), 3));
    // A database is filled by the same rule.
    let refused = folder.run("sql -o other.db other.log");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let lenient = folder.run("sql -o other.db --lenient --input-format mps other.log");
    assert_eq!(lenient.code, Some(0), "{}", lenient.stderr);
    let events = "SELECT count(*) FROM event";
    assert_eq!(column(&folder.path("other.db"), events), ["Integer(3)"]);
    let cut = folder.run("cnv cut.log");
    assert_eq!(cut.code, Some(1));
    let lines: Vec<&str> = made::SMALL.lines().collect();
    assert_same(&cut.stdout, (lines[..19].join("\n") + "\n").as_bytes(), "cut");
    assert!(
        cut.stderr.contains("the log ends 15 bytes into the head")
            || cut.stderr.contains("the log ends 15 bytes into EventClockSync, which has 24"),
        "{}",
        cut.stderr
    );
}

#[test]
fn converted_and_back() {
    let folder = folder();
    for args in ["convert --to telemetry -o a.tel mpsio.log", "convert --to mps -o b.log a.tel"] {
        let run = folder.run(args);
        assert_eq!(run.code, Some(0), "{args}: {}", run.stderr);
    }
    assert_same(&folder.run("cnv b.log").stdout, made::SMALL.as_bytes(), "back again");
    assert_same(&folder.run("txt a.tel").stdout, TXT.as_bytes(), "the stream has labels and names, too");
}

#[test]
fn what_is_told_of_a_log_that_is_piped() {
    let folder = folder();
    let told = |args: &str| folder.run_on(args, &made::small()).stderr;
    let expected = format!(
        "read: 20 events; {} bytes; may be truncated: the format has no end mark\n",
        made::small().len()
    );
    for args in ["print -", "info -", "info --json -"] {
        assert_eq!(told(args).replace(',', ""), expected, "{args}");
    }
}

/// The output of the real programs.
#[test]
fn real_logs() {
    let Some(logs) = reference::folder("mps") else { return };
    for name in reference::names(&logs, ".mpsio.log") {
        let read = |end: &str| reference::read(&logs.join(format!("{name}{end}")));
        let (Some(log), Some(cnv), Some(txt)) = (read(".mpsio.log"), read(".cnv.txt"), read(".txt.txt"))
        else {
            continue;
        };
        let folder = Folder::new().with("mpsio.log", log);
        assert_same(&folder.run("cnv -f mpsio.log").stdout, &cnv, &name);
        assert_same(&folder.run("txt mpsio.log").stdout, &txt, &name);
        let text = String::from_utf8(cnv).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort();
        let sorted = lines.join("\n") + "\n";
        assert_same(&folder.run_on("txt", sorted.as_bytes()).stdout, &txt, &name);
        assert_eq!(folder.run("sql -o a.db mpsio.log").code, Some(0));
        assert_eq!(folder.run_on("sql -o b.db", sorted.as_bytes()).code, Some(0));
        let counts = String::from_utf8(read(".sql.counts.tsv").expect("counts are not packed")).unwrap();
        for database in ["a.db", "b.db"] {
            let rows = rows(&folder.path(database));
            for line in counts.lines() {
                let (table, expected) = line.split_once('\t').unwrap();
                let Ok(expected) = expected.parse::<i64>() else { continue };
                if table == "sqlite_sequence" {
                    continue;
                }
                let found = rows.iter().find(|(name, _)| name == table).map(|(_, rows)| *rows);
                assert_eq!(found, Some(expected), "{name}, {database}: {table}");
            }
        }
        // Every column of the real tables.
        let connection = Connection::open(folder.path("a.db")).unwrap();
        let schema = std::fs::read_to_string(logs.join("sql.schema")).unwrap();
        for create in schema.lines().filter(|line| line.starts_with("CREATE TABLE EVENT_")) {
            let (head, columns) = create.split_once('(').unwrap();
            let table = head.trim_start_matches("CREATE TABLE ").trim();
            let names =
                columns.split(',').map(|column| column.split_whitespace().next().unwrap().trim_matches('"'));
            let names = names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
            let found = connection.prepare(&format!("SELECT {names} FROM {table}"));
            assert!(found.is_ok(), "{table}: {:?}", found.err());
        }
    }
}
