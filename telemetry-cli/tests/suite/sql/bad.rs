//! Bad inputs and databases: a message, the right exit code, nothing lost.

use std::process::{Command, Stdio};

use rusqlite::Connection;

use super::{loaded, rows};
use crate::run::{Folder, run};
use crate::streams::{GC, blocks, events_blocks, gc, gc_run, gc_without_registry};

#[test]
fn inputs() {
    let whole = gc();
    let parts = blocks(&whole);
    let start = parts[..events_blocks(&parts)[1]].concat().len();
    let mut flipped = whole.clone();
    flipped[start + 150] ^= 1;
    let folder = Folder::new()
        .with("empty.tel", "")
        .with("text.tel", "root:x:0:0:root:/root:/bin/bash\n".repeat(20))
        .with("cut.tel", &whole[..start + 150])
        .with("flipped.tel", flipped)
        .with("unknown.tel", gc_without_registry())
        .with("gc.tel", &whole)
        .with("events.toml", GC)
        .with("wrong.txt", "00000000000F4628   10 7F001000 1000000000 1000 0\nnonsense\n1 10 1\n1 ABC\n");
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.check(
        "sql_inputs",
        &[
            "sql -o a.db missing.tel",
            "sql -o a.db folder",
            "sql -o a.db empty.tel",
            "sql -o a.db text.tel",
            "sql -o a.db",
            "sql -o a.db --registry events.toml",
            "sql -o a.db --registry missing.toml gc.tel",
        ],
    );
    assert!(!folder.path("a.db").exists());
    folder.check(
        "sql_damaged_inputs",
        &[
            "sql -o cut.db cut.tel",
            "sql -o flipped.db flipped.tel",
            "sql -o unknown.db unknown.tel",
            "sql -o unknown.db --registry events.toml unknown.tel",
            "sql -o wrong.db --registry events.toml -i wrong.txt",
            "sql -o some.db gc.tel empty.tel missing.tel",
        ],
    );
    let events = |database: &str| rows(&folder.path(database), "SELECT count(*) FROM event").concat();
    assert_eq!(
        ["cut.db", "flipped.db", "unknown.db", "wrong.db", "some.db"].map(events),
        ["3", "20", "23", "1", "23"],
    );
}

#[test]
fn databases() {
    let folder = Folder::new()
        .with("gc.tel", gc())
        .with("text.db", "This is not a database.".repeat(100))
        .with("empty.db", "")
        .with("short.db", "x");
    std::fs::create_dir(folder.path("folder.db")).unwrap();
    let make =
        |name: &str, sql: &str| Connection::open(folder.path(name)).unwrap().execute_batch(sql).unwrap();
    make("other.db", "CREATE TABLE people (name TEXT); INSERT INTO people VALUES ('Ada')");
    make("marked.db", "PRAGMA application_id = 1196444487; CREATE TABLE layers (name TEXT)");
    assert_eq!(folder.run("sql -o newer.db gc.tel").code, Some(0));
    make("newer.db", "PRAGMA user_version = 5");
    let names = ["text.db", "short.db", "other.db", "marked.db", "newer.db"];
    let before = names.map(|name| std::fs::read(folder.path(name)).unwrap());
    let lines: Vec<_> = names.iter().map(|name| format!("sql --delete -o {name} gc.tel")).collect();
    let mut lines: Vec<_> = lines.iter().map(String::as_str).collect();
    lines.extend([
        "sql -o folder.db gc.tel",
        "sql -o missing/x.db gc.tel",
        "sql -o gc.tel/x.db gc.tel",
        "sql -o /dev/full gc.tel",
        "sql -o empty.db gc.tel",
    ]);
    folder.check("sql_databases", &lines);
    assert_eq!(names.map(|name| std::fs::read(folder.path(name)).unwrap()), before);
}

/// Names with a special meaning in SQLite are names of files here.
#[test]
fn names_are_names_of_files() {
    let folder = Folder::new().with("gc.tel", gc());
    for name in [":memory:", "file:x.db?mode=memory", "-x.db"] {
        let mut command = folder.command("sql gc.tel");
        command.arg(format!("--output={name}"));
        assert_eq!(run(&mut command, &[]).code, Some(0), "{name}");
        assert!(folder.path(name).metadata().unwrap().len() > 0, "{name}");
    }
}

/// Another process writes for longer than the command waits.
#[test]
fn a_database_in_use() {
    let folder = loaded(&[("gc.tel", gc())]).with("b.tel", gc_run(2).finish().unwrap());
    let other = Connection::open(folder.path("telemetry.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    folder.check("sql_in_use", &["sql b.tel"]);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(folder.run("sql b.tel").code, Some(0));
}

/// Several processes make one new database at the same time. Loads that were reported as done are
/// there. A failed one takes nothing from the others. One that comes too late must be tried again.
#[test]
fn a_database_that_several_make() {
    for round in 0..8 {
        let folder = Folder::new();
        let mut children = Vec::new();
        for number in 0..6_u64 {
            let name = format!("{number}.tel");
            // Some are not streams.
            let content = if number % 2 == 1 { b"noise".repeat(9) } else { gc_run(number).finish().unwrap() };
            std::fs::write(folder.path(&name), content).unwrap();
            let command = folder.command(&format!("sql {name}")).stderr(Stdio::piped()).spawn();
            children.push((number, command.unwrap()));
        }
        let mut loaded = Vec::new();
        for (number, child) in children {
            let output = child.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            match output.status.code() {
                Some(0) if number % 2 == 0 && told.contains("loaded") => loaded.push(format!("{number}.tel")),
                Some(2) if number % 2 == 1 && told.contains("is text, expected a telemetry stream") => {}
                code => assert!(code == Some(2) && told.contains("help: try again"), "round {round}: {told}"),
            }
        }
        assert!(!loaded.is_empty(), "round {round}");
        let path = folder.path("telemetry.db");
        assert_eq!(rows(&path, "SELECT name FROM event_log ORDER BY name"), loaded, "round {round}");
        assert_eq!(rows(&path, "PRAGMA integrity_check"), ["ok"], "round {round}");
        let left = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(
            left.filter(|name| name.to_string_lossy().contains("telemetry.db")).count(),
            1,
            "round {round}"
        );
        for number in [0, 2, 4] {
            assert_eq!(folder.run(&format!("sql {number}.tel")).code, Some(0), "round {round}");
        }
        assert_eq!(rows(&path, "SELECT count(*) FROM event"), ["69"], "round {round}");
    }
}

/// Runs `$1` on a file system of our own, in a namespace of our own, so that it can be full or
/// read-only.
#[cfg(target_os = "linux")]
pub(crate) fn on_tmpfs(folder: &Folder, script: &str) -> Option<crate::run::Run> {
    std::fs::create_dir_all(folder.path("small")).unwrap();
    let script = format!("mount -t tmpfs -o size=1m none small || exit 99; {script}");
    let mut command = Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_telemetry")])
        .current_dir(folder.path(""));
    if Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success()) {
        let run = run(&mut command, &[]);
        if run.code != Some(99) {
            return Some(run);
        }
    }
    eprintln!("SKIPPED: no file system can be mounted in a namespace here, so none can be full or read-only");
    None
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk() {
    let folder = Folder::new().with("gc.tel", gc()).with("big.tel", super::killed::big());
    // A new database, and one with content.
    let script = "\"$1\" sql -o small/new.db big.tel; echo $?; ls small; \"$1\" sql -o small/old.db gc.tel 2> /dev/null; \
                  \"$1\" sql -o small/old.db big.tel; echo $?; \"$1\" sql --delete -o small/old.db big.tel; echo $?; \
                  cp small/* .";
    let Some(run) = on_tmpfs(&folder, script) else { return };
    assert_eq!(String::from_utf8_lossy(&run.stdout), "2\n2\n2\n", "{}", run.stderr);
    let told: Vec<_> = run.stderr.lines().collect();
    let full = |name: &str| format!("error: cannot write `small/{name}`: the disk is full");
    assert_eq!(told, [full("new.db"), full("old.db"), full("old.db")]);
    assert_eq!(rows(&folder.path("old.db"), "SELECT count(*) FROM event"), ["23"]);
    assert_eq!(rows(&folder.path("old.db"), "PRAGMA integrity_check"), ["ok"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_read_only_database() {
    let folder = Folder::new().with("gc.tel", gc()).with("b.tel", gc_run(2).finish().unwrap());
    let script = "\"$1\" sql -o small/old.db gc.tel 2> /dev/null; mount -o remount,ro small; \
                  \"$1\" sql -o small/old.db b.tel; echo $?; \"$1\" sql --delete -o small/old.db b.tel; echo $?; \
                  \"$1\" sql -o small/new.db b.tel; echo $?; cp small/* .";
    let Some(run) = on_tmpfs(&folder, script) else { return };
    assert_eq!(String::from_utf8_lossy(&run.stdout), "2\n2\n2\n", "{}", run.stderr);
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("sql_read_only", run.stderr);
    });
    assert_eq!(rows(&folder.path("old.db"), "SELECT count(*) FROM event"), ["23"]);
}
