//! Commands that end early: no file is half written.
#![cfg(target_os = "linux")]

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use telemetry_decode::{RawStr, Value};

use super::read::{FORMATS, Format};
use crate::run::{Folder, by_default};
use crate::sql::bad::on_tmpfs;
use crate::streams::{begun, gc, gc_registry};

/// Returns the names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// Starts a command that writes files, among them one to a pipe, which it waits for in the end.
/// Returns when the other files have begun.
fn in_the_middle(folder: &Folder, format: Format) -> Child {
    let tables = folder.path("tables");
    std::fs::create_dir(&tables).unwrap();
    let fifo = Command::new("mkfifo").arg(tables.join(format.file("damage"))).status().unwrap();
    assert!(fifo.success());
    std::fs::write(tables.join(format.file("PoolInit")), "old").unwrap();
    let mut command = folder.command(&format.command("-d tables gc.tel"));
    let mut child = by_default(&mut command).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !names(&tables).iter().any(|name| name.ends_with(".tmp")) {
        assert_eq!(child.try_wait().unwrap(), None);
        assert!(start.elapsed() < Duration::from_secs(60), "nothing was begun");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn end(child: &mut Child, signal: &str) -> Option<i32> {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    child.wait().unwrap().signal()
}

#[test]
fn an_interrupt_leaves_nothing() {
    for format in FORMATS {
        for (name, signal) in [("-INT", libc::SIGINT), ("-TERM", libc::SIGTERM)] {
            let folder = Folder::new().with("gc.tel", gc());
            let mut child = in_the_middle(&folder, format);
            assert_eq!(end(&mut child, name), Some(signal));
            assert_eq!(names(&folder.path("tables")), [format.file("PoolInit"), format.file("damage")]);
            assert_eq!(std::fs::read(folder.path("tables").join(format.file("PoolInit"))).unwrap(), b"old");
        }
    }
}

/// A kill leaves temporary files, whose names no engine takes for tables.
#[test]
fn a_kill_leaves_no_tables() {
    for format in FORMATS {
        let folder = Folder::new().with("gc.tel", gc());
        let mut child = in_the_middle(&folder, format);
        assert_eq!(end(&mut child, "-KILL"), Some(libc::SIGKILL));
        let tables = folder.path("tables");
        let left = |name: &String| name.starts_with('.') && name.ends_with(".tmp");
        let (left, others): (Vec<_>, Vec<_>) = names(&tables).into_iter().partition(left);
        assert_eq!(others, [format.file("PoolInit"), format.file("damage")]);
        assert_eq!(std::fs::read(tables.join(format.file("PoolInit"))).unwrap(), b"old");
        // The next run neither needs nor removes them.
        std::fs::remove_file(tables.join(format.file("damage"))).unwrap();
        let run = format.write(&folder, "gc.tel");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(left.iter().all(|name| tables.join(name).exists()), "{left:?}");
        assert_eq!(format.rows(&folder, "PoolInit").len(), 3);
    }
}

/// Returns a stream whose texts cannot be compressed, of several megabytes.
fn noise() -> Vec<u8> {
    let (mut writer, lane) = begun(1, 1, "", &gc_registry());
    let mut state = 1_u64;
    for number in 0..5_000 {
        let letter = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b' ' + (state >> 58) as u8
        };
        let text: Vec<u8> = (0..1000).map(letter).collect();
        writer.event(lane, 0xffff, number, &[Value::String(RawStr(&text))]).unwrap();
    }
    writer.end(1, 5_000).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_disk_that_fills_up() {
    let folder = Folder::new().with("gc.tel", gc()).with("noise.tel", noise());
    for format in FORMATS {
        let script = format!(
            "\"$1\" {new}; echo $?; ls -A small; \"$1\" -q {old}; \"$1\" {again}; echo $?; ls -A small/t; cp -r small/t .",
            new = format.command("-d small/t noise.tel"),
            old = format.command("-d small/t gc.tel"),
            again = format.command("-d small/t noise.tel"),
        );
        let Some(run) = on_tmpfs(&folder, &script) else { return };
        let stdout = String::from_utf8(run.stdout).unwrap();
        // The directory of the first run is gone.
        assert!(stdout.starts_with("2\n2\n"), "{stdout}{}", run.stderr);
        assert_eq!(run.stderr.matches("No space left on device").count(), 2, "{}", run.stderr);
        assert!(!stdout.contains(".tmp"), "{stdout}");
        std::fs::rename(folder.path("t"), folder.path("tables")).unwrap();
        // The first file that was full may be any; the old ones are whole.
        assert_eq!(format.rows(&folder, "Note").len(), 4);
        assert_eq!(format.rows(&folder, "PoolInit").len(), 3);
        std::fs::remove_dir_all(folder.path("tables")).unwrap();
    }
}
