//! Files and links that another user placed where a program writes: they stay as they are, and that
//! user reads nothing.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use crate::ends::program;
use crate::support::process::{Outcome, Process, child};
use crate::support::stream::Stream;
use crate::support::system::{self, OTHER_USER};
use crate::work;

/// A directory with write permission for others, in which another user has run a line of a shell.
fn plant(dir: &Path, line: &str) {
    fs::set_permissions(dir, PermissionsExt::from_mode(0o1777)).expect("our own directory");
    let status = system::as_user("sh", OTHER_USER).args(["-c", line]).current_dir(dir).status();
    assert!(status.expect("a shell").success(), "{line}");
}

fn skips() -> bool {
    if system::is_root() {
        return false;
    }
    eprintln!("SKIPPED: only root can be another user");
    true
}

/// Runs a program with a ring file at `app.ring`, which another user has prepared.
fn run_with_ring(line: &str) -> Outcome {
    let process = Process::new(program("ends")).arg("return").env("TELEMETRY_RING", "app.ring");
    plant(process.dir(), line);
    let run = process.run().succeeded();
    assert_eq!(run.stream().events.len(), 2000, "the program goes on");
    run
}

/// A ring file of another user is never used, whatever it looks like.
#[test]
fn a_ring_of_another_user() {
    if skips() {
        return;
    }
    let check = |line: &str, why: &str| {
        let run = run_with_ring(line);
        let complaint = format!(
            "telemetry: [ring-failed] no ring file `app.ring`: {why}; events are lost if the process is killed\n"
        );
        assert_eq!(run.stderr, complaint, "{line}");
        run
    };
    let theirs = format!("found a file of user {OTHER_USER}, expected nothing or an earlier ring of user 0");
    let run = check("umask 0; : > app.ring", &theirs);
    assert_eq!(fs::read(run.dir().join("app.ring")).expect("a file"), b"");
    check("umask 077; : > app.ring", &theirs);
    check("mkfifo -m 666 app.ring", &theirs);
    check("mkdir app.ring", &theirs);
    let link = "found a symbolic link, expected nothing or an earlier ring";
    let run = check(": > theirs; chmod 666 theirs; ln -s theirs app.ring", link);
    assert_eq!(fs::read(run.dir().join("theirs")).expect("a file"), b"");
    let run = check("ln -s nothing app.ring", link);
    assert!(!run.dir().join("nothing").exists());
    let run = check("ln -s /etc/passwd app.ring", link);
    assert!(fs::symlink_metadata(run.dir().join("app.ring")).expect("a link").is_symlink());
}

/// Nor is one moved aside, or moved over another user's `.old`.
#[test]
fn an_earlier_ring_of_another_user() {
    if skips() {
        return;
    }
    let head = crate::ring::killed();
    let check = |names: [&str; 2], why: &str| {
        let process = Process::new(program("ends")).arg("return").env("TELEMETRY_RING", "app.ring");
        fs::write(process.dir().join(names[0]), &head).expect("a file");
        fs::write(process.dir().join(names[1]), &head).expect("a file");
        std::os::unix::fs::chown(process.dir().join(names[0]), Some(OTHER_USER), None).expect("a file");
        let run = process.run().succeeded();
        assert!(run.stderr.contains(why), "{}", run.stderr);
        for name in names {
            assert!(fs::read(run.dir().join(name)).expect("a file") == head, "{name}");
        }
    };
    check(["app.ring", "app.ring.old"], "found a file of user 12345");
    check(["app.ring.old", "app.ring"], "behind `.old`, where that would go, something else");
}

/// The process always creates its ring file. An existing empty file is replaced, because another
/// user may have it open. Only its owner can open it, whatever the umask.
#[test]
fn a_ring_is_new_and_the_owners_alone() {
    let run = child(
        "planted::a_ring_is_new_and_the_owners_alone",
        |process| {
            fs::write(process.dir().join("app.ring"), "").expect("a file");
            let open = PermissionsExt::from_mode(0o666);
            fs::set_permissions(process.dir().join("app.ring"), open).expect("a file");
            process.env("TELEMETRY_RING", "app.ring")
        },
        || {
            let before = fs::File::open("app.ring").expect("a file");
            system::set_umask(0);
            work::tick!();
            let ring = fs::metadata("app.ring").expect("a ring");
            assert!(before.metadata().expect("a file").ino() != ring.ino());
            assert_eq!(before.metadata().expect("a file").len(), 0);
            assert_eq!((ring.mode() & 0o7777, ring.nlink(), ring.uid()), (0o400, 1, system::user()));
            vec![("len", ring.len())]
        },
    );
    assert!(run.number("len") > 16 << 20);
    assert_eq!(run.stderr, "");
}

/// The system refuses a user who truncates the ring file of a running process by mistake, as
/// `logrotate` does with `copytruncate`. It does not refuse root: see `SECURITY.md`.
#[test]
fn a_ring_is_not_truncated_by_its_owner() {
    if skips() {
        return;
    }
    let process = Process::new("./ring").of_user(OTHER_USER).arg("100000").without("TELEMETRY_CONTROL");
    telemetry_testing::program::copy(program("ring"), &process.dir().join("ring"));
    let process = process.env("TELEMETRY_RECORD", "all").env("TELEMETRY_RING", "app.ring");
    let told =
        |dir: &Path| fs::read(dir.join("told")).map_or(0, |told| told.iter().filter(|&&b| b != 0).count());
    let run = process.killed_after_that(
        |dir| {
            if told(dir) == 0 {
                return false;
            }
            let mut shell = system::as_user("sh", OTHER_USER);
            let shell = shell.args(["-c", ": > app.ring"]).current_dir(dir).output().expect("a shell");
            assert!(!shell.status.success());
            let said = String::from_utf8_lossy(&shell.stderr).into_owned();
            assert!(said.contains("Permission denied"), "{said}");
            true
        },
        Duration::from_millis(50),
    );
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&run.status),
        Some(libc::SIGKILL),
        "{}",
        run.status
    );
    let mut stream = Vec::new();
    let ring = telemetry_decode::Reader::open(run.dir().join("app.ring")).expect("a ring");
    assert!(ring.recover(&mut stream).expect("what is left").events > 0);
}

/// In a shared directory, a stream is not written to a file of another user or through another
/// user's link.
#[test]
fn a_stream_at_the_path_of_another_user() {
    if skips() {
        return;
    }
    let check = |line: &str, what: &str| {
        let process = Process::new(program("ends")).arg("return");
        fs::write(process.dir().join("ours"), "precious").expect("a file");
        plant(process.dir(), line);
        let run = process.run().succeeded();
        let complaint = format!(
            "stream.tel`: found {what} of user {OTHER_USER} in a directory that any user may write to, expected one of \
             user 0"
        );
        assert!(run.stderr.contains(&complaint), "{line}: {}", run.stderr);
        assert_eq!(fs::read(run.dir().join("ours")).expect("a file"), b"precious", "{line}");
        run
    };
    check("ln -s ours stream.tel", "a symbolic link");
    let run = check("ln -s nothing stream.tel", "a symbolic link");
    assert!(!run.dir().join("nothing").exists());
    let run = check("umask 0; echo theirs > stream.tel", "a file");
    assert_eq!(fs::read(run.path()).expect("a file"), b"theirs\n");
}

/// The user's own link is followed, there and elsewhere.
#[test]
fn a_stream_by_a_link_of_ones_own() {
    let process = Process::new(program("ends")).arg("return");
    fs::set_permissions(process.dir(), PermissionsExt::from_mode(0o1777)).expect("our own directory");
    symlink("there.tel", process.dir().join("stream.tel")).expect("a link");
    let run = process.run().succeeded();
    assert_eq!(Stream::read(run.dir().join("there.tel")).events.len(), 2000);
}

unsafe extern "C" {
    fn telemetry_dump(path: *const libc::c_char) -> libc::c_int;
}

/// A dump is not written to a file of another user or through another user's link.
#[test]
fn a_dump_at_the_path_of_another_user() {
    if skips() {
        return;
    }
    child(
        "planted::a_dump_at_the_path_of_another_user",
        |process| {
            fs::write(process.dir().join("ours"), "precious").expect("a file");
            plant(process.dir(), "ln -s ours dump.tel; : > theirs.tel; chmod 666 theirs.tel");
            process
        },
        || {
            work::tick!();
            let dump = |path: &str| {
                let path = CString::new(path).expect("a path");
                // SAFETY: the path ends in NUL.
                unsafe { telemetry_dump(path.as_ptr()) }
            };
            assert_eq!(
                [dump("dump.tel"), dump("theirs.tel"), dump("own.tel")],
                [libc::EPERM, libc::EPERM, 0]
            );
            assert_eq!(fs::read("ours").expect("a file"), b"precious");
            assert_eq!(fs::read("theirs.tel").expect("a file"), b"");
            vec![]
        },
    );
}

/// Rotation does not wait for a pipe that has the name of an old file.
#[test]
fn a_pipe_among_rotated_files() {
    let run = child(
        "planted::a_pipe_among_rotated_files",
        |process| {
            let path = CString::new(process.dir().join("old.1.tel").into_os_string().into_encoded_bytes());
            // SAFETY: the path ends in NUL.
            assert_eq!(unsafe { libc::mkfifo(path.expect("a path").as_ptr(), 0o600) }, 0);
            process.env("TELEMETRY_FILENAME", "rotate:old.tel?count=1")
        },
        || {
            work::tick!();
            vec![]
        },
    );
    assert!(!run.dir().join("old.1.tel").exists());
    assert_eq!(Stream::read(run.dir().join("old.2.tel")).events.len(), 1);
}
