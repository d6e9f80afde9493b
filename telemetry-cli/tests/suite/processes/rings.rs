//! Ring files: those of dead processes are found, each once and with its owner, and those of others
//! are left alone.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Once;
use std::time::Duration;

use serde_json::Value;
use telemetry_format::RingHead;

use super::programs::{emit, emitted, fork, signal};
use super::{Program, Sockets, wait};

/// Writes the beginning of a process's ring.
pub(super) fn write_ring(path: &Path, pid: u32) {
    std::fs::write(path, RingHead { pid, session: 42 }.encode(crc32c::crc32c)).unwrap();
}

/// Checks that the command finds these rings of dead processes with their owners, and no others.
/// Each can be recovered.
#[track_caller]
fn check(sockets: &Sockets, args: &str, is_removed: bool, expected: &[(u32, &Path)]) {
    let run = sockets.run(args);
    assert_eq!(run.code, Some(0), "{args}: {}", run.stderr);
    let json: Value = serde_json::from_slice(&run.stdout).unwrap();
    let mut found: Vec<_> = json["dead"].as_array().unwrap().iter().collect();
    found.sort_by_key(|dead| dead["ring"].to_string());
    let expected: Vec<Value> = expected
        .iter()
        .map(|(pid, ring)| {
            assert_eq!(ring.exists(), !is_removed, "{}", ring.display());
            serde_json::json!({ "pid": pid, "copy": 1, "ring": ring.to_str().unwrap(), "removed": is_removed })
        })
        .collect();
    assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{args}");
    for dead in expected.iter().filter(|_| !is_removed) {
        let ring = dead["ring"].as_str().unwrap();
        let recovered = sockets.run(&format!("recover --json {ring}"));
        let json: Value = serde_json::from_slice(&recovered.stdout).unwrap();
        assert!(json["events"].as_u64().unwrap() > 0, "{ring}: {json}");
        let head = RingHead::decode(&std::fs::read(ring).unwrap(), crc32c::crc32c).unwrap();
        assert_eq!(u64::from(head.pid), dead["pid"].as_u64().unwrap(), "{ring}");
    }
}

/// Several processes with one path are killed in turn.
#[test]
fn a_path_that_is_used_again_and_again() {
    let sockets = Sockets::new();
    let (ring, old) = (sockets.path("a.ring"), sockets.path("a.ring.old"));
    let setup =
        [("TELEMETRY_RING", ring.to_str().unwrap()), ("TELEMETRY_CONTROL", ""), ("TELEMETRY_RECORD", "all")];
    let start = || {
        let test = "processes::rings::a_path_that_is_used_again_and_again";
        let program = Program::ready(&sockets, test, &setup, emit);
        wait("events", || emitted(&sockets, program.pid) > 0);
        program
    };
    let crash = |program: Program| {
        let pid = program.pid;
        program.kill();
        pid
    };
    let links = || {
        let names = std::fs::read_dir(sockets.dir()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_str().unwrap().ends_with(".ring")).count()
    };
    let first = crash(start());
    check(&sockets, "list --json", false, &[(first, &ring)]);
    let living = start();
    check(&sockets, "list --json", false, &[(first, &old)]);
    check(&sockets, "list --json --remove-dead", true, &[(first, &old)]);
    check(&sockets, "list --json --remove-dead", true, &[]);
    assert!(ring.exists(), "the living process's");
    wait("more events", || emitted(&sockets, living.pid) > 10);
    assert_eq!(links(), 1);

    let second = crash(living);
    let third = crash(start());
    check(&sockets, "list --json", false, &[(third, &ring), (second, &old)]);
    // The third ring replaces the second one.
    let fourth = crash(start());
    check(&sockets, "list --json", false, &[(fourth, &ring), (third, &old)]);
    assert_eq!(links(), 2);
    check(&sockets, "list --json --remove-dead", true, &[(fourth, &ring), (third, &old)]);
    check(&sockets, "list --json", true, &[]);
    assert_eq!(links(), 0);
}

/// A ring in use is not removed: one that a process has locked, and one that is still mapped after
/// its process closed all files.
#[test]
fn rings_that_are_in_use_stay() {
    let sockets = Sockets::new();
    let ring = sockets.path("a.ring");
    let setup =
        [("TELEMETRY_RING", ring.to_str().unwrap()), ("TELEMETRY_CONTROL", ""), ("TELEMETRY_RECORD", "all")];
    let test = "processes::rings::rings_that_are_in_use_stay";
    let program = Program::ready(&sockets, test, &setup, || {
        static ONCE: Once = Once::new();
        emit();
        ONCE.call_once(|| {
            let is_ring = |fd: &i32| {
                let path = std::fs::read_link(format!("/proc/self/fd/{fd}"));
                path.is_ok_and(|path| path.file_name().is_some_and(|name| name == "a.ring"))
            };
            let fd = (3..1000).find(is_ring).unwrap();
            // SAFETY: a daemon also closes all its open files.
            unsafe { libc::close(fd) };
        });
    });
    let pid = program.pid;
    let has_it = || {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        open.flatten().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|path| path == ring))
    };
    wait("the end of the file", || !has_it());
    check(&sockets, "list --json --remove-dead", true, &[]);
    program.kill();
    let held = File::open(&ring).unwrap();
    held.try_lock().unwrap();
    check(&sockets, "list --json --remove-dead", true, &[]);
    drop(held);
    check(&sockets, "list --json --remove-dead", true, &[(pid, &ring)]);
}

/// Children that are killed, or end, at the moment of their first event.
#[test]
fn processes_that_live_for_a_moment() {
    let check_found = |socket: &str, are_found: bool| {
        let sockets = Sockets::new();
        let (pattern, told) = (sockets.path("%p.ring"), sockets.path("told"));
        let dir = sockets.dir();
        let setup = [
            ("TELEMETRY_RING", pattern.to_str().unwrap()),
            ("TELEMETRY_CONTROL", ""),
            ("TELEMETRY_RECORD", "all"),
            ("TELEMETRY_SOCKET", if socket.is_empty() { dir.to_str().unwrap() } else { socket }),
            ("CHILD_FILE", told.to_str().unwrap()),
        ];
        let test = "processes::rings::processes_that_live_for_a_moment";
        let program = Program::start(&sockets, test, &setup, || {
            static ONCE: Once = Once::new();
            ONCE.call_once(|| {
                let children = [true, false].map(|is_killed| {
                    let child = fork(|| {
                        emit();
                        // SAFETY: ends this process, and runs nothing.
                        unsafe {
                            if is_killed {
                                libc::raise(libc::SIGKILL);
                            }
                            libc::_exit(0);
                        }
                    });
                    // SAFETY: waits for our own child, whose status does not matter.
                    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
                    child.cast_unsigned()
                });
                let [one, other] = children;
                let file = std::env::var_os("CHILD_FILE").unwrap();
                std::fs::write(file, format!("{one} {other}\n")).unwrap();
            });
        });
        let children = || std::fs::read_to_string(&told).unwrap_or_default();
        wait("the children", || children().ends_with('\n'));
        let pids: Vec<u32> = children().split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        let rings: Vec<_> = pids.iter().map(|pid| sockets.path(&format!("{pid}.ring"))).collect();
        assert!(rings.iter().all(|ring| ring.exists()));
        let mut expected: Vec<_> = pids.into_iter().zip(rings.iter().map(|ring| &**ring)).collect();
        expected.sort_by_key(|(_, ring)| ring.to_path_buf());
        if are_found {
            check(&sockets, "list --json", false, &expected);
        } else {
            // The directory says nothing about their places.
            check(&sockets, "list --json", true, &[]);
        }
        drop(program);
    };
    check_found("", true);
    check_found("off", false);
}

/// The child of a fork, which outlives its parent, has nothing of the parent's ring.
#[test]
fn a_process_whose_child_outlives_it() {
    let sockets = Sockets::new();
    let (pattern, told) = (sockets.path("%p.ring"), sockets.path("told"));
    let setup = [
        ("TELEMETRY_RING", pattern.to_str().unwrap()),
        ("TELEMETRY_CONTROL", ""),
        ("TELEMETRY_RECORD", "all"),
        ("CHILD_FILE", told.to_str().unwrap()),
    ];
    let test = "processes::rings::a_process_whose_child_outlives_it";
    let program = Program::start(&sockets, test, &setup, || {
        static ONCE: Once = Once::new();
        emit();
        ONCE.call_once(|| {
            let child = fork(|| std::thread::sleep(Duration::from_secs(60)));
            std::fs::write(std::env::var_os("CHILD_FILE").unwrap(), format!("{child}\n")).unwrap();
        });
    });
    let child = || std::fs::read_to_string(&told).unwrap_or_default();
    wait("the child", || child().ends_with('\n'));
    let (pid, child) = (program.pid, child().trim().parse().unwrap());
    program.kill();
    let ring = sockets.path(&format!("{pid}.ring"));
    // The child first releases the ring.
    wait("the end of the lock", || File::open(&ring).unwrap().try_lock_shared().is_ok());
    assert!(Path::new(&format!("/proc/{child}")).exists());
    check(&sockets, "list --json", false, &[(pid, &ring)]);
    check(&sockets, "list --json --remove-dead", true, &[(pid, &ring)]);
    signal(child, libc::SIGKILL);
}

/// A process that dies while it makes its socket leaves it under another name.
#[test]
fn half_made_sockets_are_swept() {
    let sockets = Sockets::new();
    let hidden = |pid: u32| sockets.dir().join(format!(".{pid}"));
    let (dead, living) = (hidden(4_194_305), hidden(std::process::id()));
    drop([&dead, &living].map(|path| UnixListener::bind(path).unwrap()));
    // A name without a process number is not ours.
    let other = sockets.dir().join(".profile");
    std::fs::write(&other, "").unwrap();
    sockets.run("list");
    assert_eq!([&dead, &living, &other].map(|path| path.exists()), [false, true, true]);
}

/// The ring of a killed process is listed until it is removed. Other processes' rings are left
/// alone.
#[test]
fn rings_of_the_dead_are_found() {
    let sockets = Sockets::new();
    let pattern = sockets.path("%p.ring");
    let setup = [("TELEMETRY_RING", pattern.to_str().unwrap()), ("TELEMETRY_CONTROL", "")];
    let start = || {
        let program = Program::ready(&sockets, "processes::rings::rings_of_the_dead_are_found", &setup, emit);
        sockets.prints(&format!("control {} --record all", program.pid));
        wait("events", || emitted(&sockets, program.pid) > 100);
        program
    };
    let (killed, ended, living) = (start(), start(), start());
    let ring = |pid: u32| sockets.path(&format!("{pid}.ring"));
    let link = |pid: u32| sockets.dir().join(format!("{pid}.ring"));
    assert_eq!(link(killed.pid).read_link().unwrap(), ring(killed.pid));
    let dead = killed.pid;
    killed.kill();
    // Without a snapshot, the events of the flight recorder are still in its ring.
    let other = ended.pid;
    sockets.prints(&format!("control {other} --record --reset all"));
    ended.end();
    // Its number now belongs to another process, which has not mapped it.
    write_ring(&ring(1), std::process::id());
    symlink(ring(1), link(std::process::id())).unwrap();
    // A file that is not a ring, and a ring that was removed by hand.
    std::fs::write(sockets.path("notes"), "precious").unwrap();
    symlink(sockets.path("notes"), link(4_194_305)).unwrap();
    symlink(sockets.path("nowhere"), link(dead - 1)).unwrap();

    let printed = sockets.prints("list");
    let gone = ring(dead).display().to_string();
    assert!(
        printed.contains(&format!(
            "process {dead} is dead, its ring file is at `{gone}`: telemetry recover {gone}\n"
        )),
        "{printed}"
    );
    assert!(printed.contains(&format!("its ring file is at `{}`", ring(1).display())), "{printed}");
    assert!(!printed.contains(&ring(living.pid).display().to_string()), "{printed}");
    assert!(link(dead - 1).symlink_metadata().is_err(), "leads nowhere");
    let help = format!("error: process {dead} is dead; help: `telemetry recover {gone}` reads what it left");
    sockets.check(&format!("tail {dead}"), 2, &help);
    let recovered = sockets.run(&format!("recover {gone} -o recovered.tel"));
    assert_eq!(recovered.code, Some(0), "{}", recovered.stderr);
    let printed = String::from_utf8(sockets.run("print recovered.tel").stdout).unwrap();
    assert!(printed.lines().count() > 100, "{printed}");

    let json: Value = serde_json::from_str(&sockets.prints("list --json --remove-dead")).unwrap();
    let removed = json["dead"].as_array().unwrap().iter().filter(|dead| dead["removed"] == true);
    assert!(removed.clone().count() >= 2, "{json}");
    assert_eq!(std::fs::read_to_string(sockets.path("notes")).unwrap(), "precious");
    assert!(link(4_194_305).symlink_metadata().is_err(), "leads to no ring");
    assert!(!ring(dead).exists() && !link(dead).exists() && !ring(1).exists());
    assert!(ring(living.pid).exists() && link(living.pid).exists());
    let living_pid = living.pid;
    living.end();
    assert!(!sockets.socket(living_pid).exists());
    assert_eq!(link(living_pid).exists(), ring(living_pid).exists());
}
