//! Pipes by their names, and readers that go away.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use telemetry_format::Grouped;

use super::{BLOCK, block, child, seqs, wait_for, write, write_blocks};
use crate::sinks::sink::Sink;
use crate::sinks::{File, Socket, Writer};

/// Makes a named pipe.
pub(super) fn make_pipe(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(status.success());
}

/// Reads from a pipe until `enough` blocks have come.
fn read_pipe(path: &Path, enough: usize) -> JoinHandle<Vec<u32>> {
    let path = path.to_owned();
    std::thread::spawn(move || {
        let mut bytes = vec![0; enough * BLOCK];
        fs::File::open(path).and_then(|mut pipe| pipe.read_exact(&mut bytes)).expect("a pipe");
        seqs(&bytes)
    })
}

/// No reader, a reader, a reader that is gone, another reader: each starts over, and gets what
/// waits for it.
#[test]
fn a_pipe_is_for_one_reader_after_the_other() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("pipe");
    make_pipe(&path);
    let mut sink = File::new(&path);
    for round in 1..=2 {
        assert!(write(&mut sink, [round * 10]).expect("room"));
        let error = sink.flush().expect_err("no reader").to_string();
        let expected = format!(
            "the pipe has no reader yet; {} bytes wait for a reader, at most 4,194,304",
            Grouped::from(BLOCK as u64)
        );
        assert_eq!(error, expected);
        let reader = read_pipe(&path, 3);
        assert!(!write(&mut sink, [round * 10 + 1, round * 10 + 2]).expect("room"));
        wait_for("reader", || sink.flush().ok());
        assert_eq!(reader.join().expect("a reader"), [round * 10, round * 10 + 1, round * 10 + 2]);
        let error = write(&mut sink, [99]).expect_err("no reader");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error}");
    }
}

/// A reader that takes nothing for a while gets whole blocks when it continues, and none of the
/// refused ones.
#[test]
fn a_slow_reader_of_a_pipe_gets_whole_blocks() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("pipe");
    make_pipe(&path);
    let (go, gone) = channel::<()>();
    let reader = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut pipe = fs::File::open(path).expect("a pipe");
            gone.recv().expect("a sign");
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).expect("a pipe");
            seqs(&bytes)
        }
    });
    let mut sink = File::new(&path);
    let mut taken = Vec::new();
    write(&mut sink, [0]).expect("room");
    wait_for("reader", || sink.flush().ok());
    taken.push(0);
    let since = Instant::now();
    let mut refused = 0;
    for seq in 1..200 {
        match write_blocks(&mut sink, &[block(seq, 65_000)]) {
            Ok(_) => taken.push(seq),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "{refused}");
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    assert_eq!(sink.flush().expect_err("a slow reader").kind(), ErrorKind::WouldBlock);
    go.send(()).expect("a reader");
    // The reader continues, and so does the sink, also at its end.
    wait_for("room", || write(&mut sink, [500]).ok());
    taken.push(500);
    drop(sink);
    assert_eq!(reader.join().expect("a reader"), taken);
}

/// A C program that does nothing about `SIGPIPE` survives when the reader of its stream goes away.
#[test]
#[allow(unsafe_code)]
fn a_reader_that_goes_away_ends_no_process() {
    let dir = tempfile::tempdir().expect("a directory");
    child("sinks::tests::pipes::a_reader_that_goes_away_ends_no_process", &dir.path().join("pipe"), |path| {
        // SAFETY: this is the setting that a program not written in Rust begins with.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        make_pipe(path);
        let mut sink = File::new(path);
        let reader = read_pipe(path, 1);
        write(&mut sink, [0]).expect("room");
        wait_for("reader", || sink.flush().ok());
        assert_eq!(reader.join().expect("a reader"), [0]);
        assert_eq!(write(&mut sink, [1]).expect_err("no reader").kind(), ErrorKind::BrokenPipe);

        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let error = write(&mut Writer::new(writer), [1]).expect_err("no reader");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);

        let (ours, theirs) = UnixStream::pair().expect("a connection");
        drop(theirs);
        let mut sink = Socket::from_unix(ours).expect("a connection");
        assert_eq!(write(&mut sink, [1]).expect_err("no reader").kind(), ErrorKind::BrokenPipe);

        // Afterwards the signal's handling is what it was before.
        static SEEN: AtomicBool = AtomicBool::new(false);
        extern "C" fn see(_: libc::c_int) {
            SEEN.store(true, Ordering::Relaxed);
        }
        // SAFETY: the handler stores a flag and nothing else.
        unsafe {
            libc::signal(libc::SIGPIPE, see as *const () as usize);
            libc::raise(libc::SIGPIPE);
        }
        assert!(SEEN.load(Ordering::Relaxed));
    });
}
