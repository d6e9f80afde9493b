//! Files, rotated files and devices.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use super::{BLOCK, child, seqs, write};
use crate::sinks::sink::Sink;
use crate::sinks::{File, Rotating};

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn read(path: impl AsRef<Path>) -> Vec<u32> {
    seqs(&fs::read(path).expect("a file"))
}

#[test]
fn an_old_file_is_emptied() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.tel");
    fs::write(&path, vec![1; 1 << 20]).expect("a file");
    let mut sink = File::new(&path);
    assert_eq!(sink.path(), None);
    assert_eq!(fs::metadata(&path).expect("a file").len(), 1 << 20);
    assert!(write(&mut sink, 0..3).expect("a writable file"));
    assert!(!write(&mut sink, 3..5).expect("a writable file"));
    assert_eq!(sink.path(), Some(&*path));
    assert_eq!(read(&path), [0, 1, 2, 3, 4]);
}

#[test]
fn a_path_can_name_the_process() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut sink = File::new(dir.path().join("%%a%b-%p-%s.tel"));
    write(&mut sink, [1]).expect("a writable file");
    let expected = format!("%a%b-{}-{:016x}.tel", std::process::id(), crate::run::state::session());
    assert_eq!(names(dir.path()), [expected]);
}

#[test]
#[cfg(unix)]
fn a_file_of_another_process_is_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.tel");
    let mut sinks = [File::new(&path), File::new(&path), File::new(&path)];
    for (seq, sink) in sinks.iter_mut().enumerate() {
        write(sink, [seq as u32]).expect("a writable file");
    }
    let own = std::process::id();
    let expected = ["a.tel".to_owned(), format!("a.{own}.tel"), format!("a.{own}-2.tel")];
    for (seq, name) in expected.iter().enumerate() {
        assert_eq!(read(dir.path().join(name)), [seq as u32]);
        assert_eq!(sinks[seq].path(), Some(&*dir.path().join(name)));
    }
    // Once the name is free, it is used.
    drop(sinks);
    write(&mut File::new(&path), [9]).expect("a writable file");
    assert_eq!(read(&path), [9]);
}

/// At the default name, where a file that is no stream of this user stays as it is.
#[test]
#[cfg(unix)]
fn the_last_stream_is_kept_if_nothing_is_in_the_way() {
    let dir = tempfile::tempdir().expect("a directory");
    let [path, old] = ["a.tel", "a.tel.old"].map(|name| dir.path().join(name));
    let stream = |seq| _ = write(&mut File::by_default(&path), [seq]).expect("a writable file");
    stream(1);
    assert_eq!(names(dir.path()), ["a.tel"]);
    stream(2);
    assert_eq!([read(&path), read(&old)], [[2], [1]]);
    stream(3);
    assert_eq!([read(&path), read(&old)], [[3], [2]]);
    // Another sink writes the old one.
    let mut other = File::new(&old);
    write(&mut other, [9]).expect("a writable file");
    stream(4);
    assert_eq!([read(&path), read(&old)], [[4], [9]]);
    drop(other);
    // What is no stream is not kept, and is not replaced.
    fs::write(&path, "no stream").expect("a file");
    stream(5);
    assert_eq!([read(&path), read(&old)], [[5], [9]]);
    fs::write(&old, "no stream").expect("a file");
    stream(6);
    assert_eq!((read(&path), fs::read(&old).expect("a file")), (vec![6], b"no stream".to_vec()));
    // A name or a link that the user has chosen is for this stream.
    fs::remove_file(&old).expect("a file");
    write(&mut File::new(&path), [7]).expect("a writable file");
    fs::rename(&path, dir.path().join("b.tel")).expect("a file");
    std::os::unix::fs::symlink("b.tel", &path).expect("a link");
    stream(8);
    assert_eq!((names(dir.path()), read(&path)), (vec!["a.tel".to_owned(), "b.tel".to_owned()], vec![8]));
}

/// A child process with the same settings, as those of a shell or a test runner.
#[test]
#[cfg(unix)]
fn another_process_keeps_its_hands_off() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a");
    let mut sink = File::new(&path);
    write(&mut sink, [1]).expect("a writable file");
    let test = "sinks::tests::files::another_process_keeps_its_hands_off";
    let other = child(test, &path, |path| {
        let mut sink = File::new(path);
        write(&mut sink, [2]).expect("a writable file");
        write(&mut sink, [3]).expect("a writable file");
    });
    let told = String::from_utf8_lossy(&other.stderr);
    let expected = format!("telemetry: [file-in-use] `{}` is in use; writing to", path.display());
    assert_eq!(told.matches(&expected).count(), 1, "{told}");
    assert_eq!(read(&path), [1]);
    let beside = names(dir.path()).into_iter().find(|name| name != "a").expect("a file beside it");
    assert_eq!(read(dir.path().join(beside)), [2, 3]);
}

#[test]
#[cfg(unix)]
fn what_cannot_be_opened_says_why() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("locked"), "").expect("a file");
    fs::set_permissions(at("locked"), fs::Permissions::from_mode(0o400)).expect("permissions");
    let _listener = UnixListener::bind(at("socket")).expect("a socket");
    let check = |path: &str, expected: &str| {
        let error = write(&mut File::new(at(path)), [1]).expect_err("no file");
        assert!(error.to_string().contains(expected), "{path}: {error}");
    };
    check(".", "Is a directory");
    check("missing/a.tel", "No such file or directory");
    check("locked/a.tel", "Not a directory");
    check("socket", "a socket, expected a file or a pipe; help: `unix:");
    // Root may write to any file.
    if fs::OpenOptions::new().write(true).open(at("locked")).is_err() {
        check("locked", "Permission denied");
    }
    let error = write(&mut Rotating::new(at("missing/a.tel")), [1]).expect_err("no file");
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_refuses_and_is_tried_again() {
    let mut sink = File::new("/dev/full");
    for _ in 0..3 {
        assert_eq!(write(&mut sink, [1]).expect_err("no space").kind(), ErrorKind::StorageFull);
    }
    let mut sink = File::new("/dev/null");
    assert!(write(&mut sink, [1]).expect("room"));
    assert!(!write(&mut sink, [2]).expect("room"));
}

#[test]
fn rotation_by_size_never_cuts_a_write() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("a.01.tel"), "no segment").expect("a file");
    fs::write(dir.path().join("a.b.tel"), "no segment").expect("a file");
    fs::write(dir.path().join("a.7.tel"), "an earlier run's").expect("a file");
    let mut sink = Rotating::new(dir.path().join("a.tel")).size(3 * BLOCK as u64).count(3);
    let mut begins = Vec::new();
    for seq in (0..20).step_by(2) {
        if write(&mut sink, [seq, seq + 1]).expect("a writable file") {
            begins.push(seq);
        }
        assert!(names(dir.path()).len() <= 5);
    }
    // Two writes do not fit.
    assert_eq!(begins, (0..20).step_by(2).collect::<Vec<_>>());
    assert_eq!(names(dir.path()), ["a.01.tel", "a.15.tel", "a.16.tel", "a.17.tel", "a.b.tel"]);
    assert_eq!(sink.path(), Some(&*dir.path().join("a.17.tel")));
    assert_eq!(read(dir.path().join("a.15.tel")), [14, 15]);
    assert_eq!(read(dir.path().join("a.17.tel")), [18, 19]);
    // A write that is longer than a segment is alone in one.
    assert!(write(&mut sink, 20..30).expect("a writable file"));
    assert_eq!(read(dir.path().join("a.18.tel")).len(), 10);
}

#[test]
fn rotation_by_age() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut sink = Rotating::new(dir.path().join("a")).age(Duration::from_millis(20)).count(2);
    for seq in 0..4 {
        assert!(write(&mut sink, [seq]).expect("a writable file"));
        std::thread::sleep(Duration::from_millis(25));
    }
    assert_eq!(names(dir.path()), ["a.3", "a.4"]);
    let mut slow = Rotating::new(dir.path().join("b")).age(Duration::from_secs(3600));
    assert!(write(&mut slow, [1]).expect("a writable file"));
    assert!(!write(&mut slow, [2]).expect("a writable file"));
}

/// What another process is writing is neither used nor removed.
#[test]
#[cfg(unix)]
fn processes_share_the_names_of_rotation() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = || Rotating::new(dir.path().join("a.tel")).size(BLOCK as u64).count(2);
    let mut slow = sink();
    write(&mut slow, [100]).expect("a writable file");
    let mut quick = sink();
    for seq in 0..5 {
        write(&mut quick, [seq]).expect("a writable file");
    }
    assert_eq!(names(dir.path()), ["a.1.tel", "a.5.tel", "a.6.tel"]);
    assert_eq!(read(dir.path().join("a.1.tel")), [100]);
}

/// A forked child has the parent's file and its lock, and leaves both alone.
#[test]
#[cfg(unix)]
#[allow(unsafe_code)]
fn a_forked_child_has_a_file_of_its_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.tel");
    child("sinks::tests::files::a_forked_child_has_a_file_of_its_own", &path, |path| {
        let mut sink = File::new(path);
        write(&mut sink, [1]).expect("a writable file");
        // SAFETY: the child goes on alone, writes and exits.
        let forked = unsafe { libc::fork() };
        if forked == 0 {
            let wrote = sink.after_fork() && write(&mut sink, [2]).is_ok_and(|begins| begins);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if wrote { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: the child is that of this process, and `status` is a local variable.
        assert_eq!(unsafe { libc::waitpid(forked, &mut status, 0) }, forked);
        assert_eq!(status, 0);
        write(&mut sink, [3]).expect("a writable file");
    });
    assert_eq!(read(&path), [1, 3]);
    let beside = names(dir.path()).into_iter().find(|name| name != "a.tel").expect("a file beside it");
    assert_eq!(read(dir.path().join(beside)), [2]);
}
