//! `csv`.

use std::process::Command;

use telemetry_decode::writer::Lane;
use telemetry_decode::{RawStr, Value};

use crate::run::{Folder, run};
use crate::streams::{GC, begun, gc, labeled, two_registries};

#[test]
fn csv() {
    let folder =
        Folder::new().with("gc.tel", gc()).with("two.tel", two_registries()).with("labels.tel", labeled());
    let folder = folder.with("text.tel", "no stream");
    std::fs::create_dir(folder.path("there")).unwrap();
    folder.check(
        "csv",
        &[
            "csv gc.tel --event PoolInit",
            "csv gc.tel --kind Trace --until 2ms",
            "csv gc.tel --event Note --event Everything",
            "csv two.tel",
            "csv labels.tel --event Intern -o out.csv",
            "csv gc.tel -d tables --kind Trace --kind Pool",
            "csv gc.tel -d gc.tel",
            "csv gc.tel -d tables -o out.csv",
            "csv two.tel -d two",
            // No file is written to these, so they are removed unless they existed before.
            "csv text.tel -d no/text",
            "csv text.tel -d there",
            "csv gc.tel -d no/tables --event RequestBegin",
            "csv gc.tel -d gc.tel/tables",
        ],
    );
    let names = |dir: &str| {
        let names = std::fs::read_dir(folder.path(dir)).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names("tables"), ["PoolInit.csv", "TraceEnd.csv", "TraceStart.csv"]);
    assert_eq!(names("two"), ["app.RequestBegin.csv", "gc.PoolInit.csv"]);
    assert!(!folder.path("no").exists());
    assert_eq!(names("there"), [""; 0]);
    let pools = std::fs::read_to_string(folder.path("tables/PoolInit.csv")).unwrap();
    assert_eq!(pools.as_bytes(), folder.run("csv gc.tel --event PoolInit").stdout);
}

/// The names of files are those of tables: versions share one, and side tables have other names.
#[test]
fn files_are_named_as_tables() {
    let version = |major: &str| {
        let text = GC.replacen("name = \"Note\"", "name = \"Message\"", 1);
        telemetry_schema::parse(&text.replacen("major = 1", major, 1)).unwrap()
    };
    let [old, new] = ["major = 1", "major = 2"].map(version);
    assert_ne!(old.version, new.version);
    let (mut writer, lane) = begun(1, 1, "", &old);
    let newer = Lane { registry: writer.registry(1, &new).unwrap(), ..lane };
    for (ticks, lane) in [lane, newer].into_iter().enumerate() {
        let pool = [Value::Pointer(1), Value::Addr(2), Value::Word(3), Value::Unsigned(4)];
        writer.event(lane, 0x10, ticks as u64, &pool).unwrap();
        writer.event(lane, 0xffff, ticks as u64, &[Value::String(RawStr(b"text"))]).unwrap();
    }
    writer.end(1, 2).unwrap();
    let folder = Folder::new().with("two.tel", writer.finish().unwrap());
    let run = folder.run("csv two.tel -d tables");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let table = [("PoolInit.csv", 3), ("gc.Message.csv", 3)];
    for (name, lines) in table {
        let text = std::fs::read_to_string(folder.path("tables").join(name)).unwrap();
        assert_eq!(text.lines().count(), lines, "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path("tables")).unwrap().count(), table.len());
}

/// Python's own reader of such files finds every number and string.
#[test]
fn others_read_the_same() {
    const SCRIPT: &str = "
import csv, json, sys
for row in csv.DictReader(sys.stdin):
    print(json.dumps([row[name] for name in ('event', 'text', 'u64', 'i64', 'four', 'access')]))";
    let folder = Folder::new().with("gc.tel", gc());
    let csv = folder.run("csv gc.tel --event Note --event Everything").stdout;
    let Ok(_) = Command::new("python3").arg("--version").output() else {
        eprintln!("SKIPPED: no python3 to read the file with");
        return;
    };
    let read = run(Command::new("python3").args(["-c", SCRIPT]).env("PYTHONIOENCODING", "utf-8"), &csv);
    assert_eq!(read.code, Some(0), "{}", read.stderr);
    let rows = String::from_utf8(read.stdout).unwrap();
    let rows: Vec<Vec<String>> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: Vec<&str> = rows.iter().filter(|row| row[0] == "Note").map(|row| row[1].as_str()).collect();
    assert_eq!(texts, ["plain", "say \"hello \\world\"", "two\nlines \u{1b}[31m", "größe"]);
    let four = "[0,-1,2147483647,-2147483648]";
    let expected =
        ["Everything", "", "18446744073709551615", "-9223372036854775808", four, "Read|Write|Run|0x10"];
    assert_eq!(rows.last().unwrap(), &expected);
}
