//! Loads that are ended in the middle, in all the ways that programs end.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use telemetry_decode::{RawStr, Value};

use super::{loaded, rows};
use crate::run::{Folder, by_default};
use crate::streams::{begun, gc, gc_registry};

/// More than SQLite keeps in memory, so that a part is in the file before it is committed.
const KIB: u64 = 80 << 10;

/// Returns a stream of this size. It is made once, since several tests use it.
pub(crate) fn big() -> &'static [u8] {
    static BIG: OnceLock<Vec<u8>> = OnceLock::new();
    BIG.get_or_init(make_big)
}

fn make_big() -> Vec<u8> {
    let (writer, lane) = begun(0xb16, 1, "", &gc_registry());
    let mut writer = writer.block_size(64 << 10);
    let text = "x".repeat(1000);
    for number in 0..KIB {
        writer.event(lane, 0xffff, number, &[Value::String(RawStr(text.as_bytes()))]).unwrap();
    }
    writer.end(0xb16, KIB).unwrap();
    writer.finish().unwrap()
}

/// Starts the command and gives it all but the last bytes of a big stream. Waits until it has
/// written a part of that to a file.
pub(super) fn in_the_middle(folder: &Folder, args: &str, database: &str) -> Child {
    let mut command = folder.command(args);
    let mut child = by_default(&mut command).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let stream = big();
    let mut stdin = child.stdin.take().unwrap();
    // A new database is made in a directory of its own.
    let written = || -> u64 {
        let of_it =
            files(folder).into_iter().filter(|name| name.contains(database) && !name.contains("-journal"));
        let len = |path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        of_it.map(|name| folder.path(&name)).map(|path| len(path.join("database")).max(len(path))).sum()
    };
    let before = written();
    stdin.write_all(&stream[..stream.len() - 100]).unwrap();
    let start = Instant::now();
    while written() <= before + (1 << 20) {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is written before the end");
        std::thread::sleep(Duration::from_millis(10));
    }
    // It stays open, so that the command waits for more.
    std::mem::forget(stdin);
    child
}

pub(super) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Returns the names of the files in a folder.
fn files(folder: &Folder) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The loads run at once: they mostly wait for the disk.
#[test]
fn an_interrupted_new_database_is_removed() {
    std::thread::scope(|scope| {
        for (name, number) in [("-INT", libc::SIGINT), ("-TERM", libc::SIGTERM), ("-HUP", libc::SIGHUP)] {
            scope.spawn(move || {
                let folder = Folder::new();
                let mut child = in_the_middle(&folder, "sql -o new.db -", "new.db");
                signal(&child, name);
                assert_eq!(child.wait().unwrap().signal(), Some(number), "{name}");
                assert_eq!(files(&folder), [""; 0], "{name}");
            });
        }
    });
}

/// The command does not wait for input here, but works.
#[test]
fn an_interrupt_at_work() {
    let folder = loaded(&[("gc.tel", gc())]).with("big.tel", big());
    let before = fs::read(folder.path("telemetry.db")).unwrap();
    let mut child = by_default(&mut folder.command("sql big.tel")).stderr(Stdio::null()).spawn().unwrap();
    let journal = folder.path("telemetry.db-journal");
    while !journal.exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it was done too soon");
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    assert!(!journal.exists(), "rolled back by the command itself");
    assert!(fs::read(folder.path("telemetry.db")).unwrap() == before);
}

/// The loads run at once, as above.
#[test]
fn an_old_database_stays() {
    std::thread::scope(|scope| {
        for name in ["-INT", "-KILL"] {
            for args in ["sql -", "sql --delete -"] {
                scope.spawn(move || check_old_database(args, name));
            }
        }
    });
}

/// The former content is still there, and more can be added.
fn check_old_database(args: &str, name: &str) {
    let folder = loaded(&[("gc.tel", gc())]);
    let mut child = in_the_middle(&folder, args, "telemetry.db");
    signal(&child, name);
    let number = if name == "-INT" { libc::SIGINT } else { libc::SIGKILL };
    assert_eq!(child.wait().unwrap().signal(), Some(number), "{args} {name}");
    let database = folder.path("telemetry.db");
    assert_eq!(rows(&database, "PRAGMA integrity_check"), ["ok"], "{args} {name}");
    assert_eq!(rows(&database, "SELECT count(*) FROM event"), ["23"], "{args} {name}");
    assert_eq!(rows(&database, "SELECT name FROM event_log"), ["gc.tel"], "{args} {name}");
    assert_eq!(files(&folder), ["gc.tel", "telemetry.db"], "{args} {name}");
    let folder = folder.with("big.tel", big());
    let run = folder.run("sql big.tel");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(rows(&database, "SELECT count(*) FROM event"), [(KIB + 23).to_string()], "{args} {name}");
}

/// A new database whose load was killed is started again.
#[test]
fn a_killed_new_database_is_started_again() {
    let folder = Folder::new().with("gc.tel", gc());
    let mut child = in_the_middle(&folder, "sql -", "telemetry.db");
    signal(&child, "-KILL");
    child.wait().unwrap();
    let run = folder.run("sql gc.tel");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(rows(&folder.path("telemetry.db"), "SELECT count(*) FROM event"), ["23"]);
    assert_eq!(rows(&folder.path("telemetry.db"), "PRAGMA integrity_check"), ["ok"]);
}
