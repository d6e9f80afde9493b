//! The runtime's sinks, chosen by address and used by a real program.

use std::io::{self, Read};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use telemetry::sinks::File;
use telemetry::{
    Config,
    sinks::{Batch, Sink},
};
use telemetry_decode::{Order, Reader};

use crate::support::process::{Outcome, child};
use crate::support::stream::{Counts, Stream};
use crate::support::system;
use crate::work;

fn emit(events: u64) {
    (0..events).for_each(|number| work::alloc!(number, number, number, 0));
}

/// Each file can be read alone, and together they are the stream.
#[test]
fn rotated_files_stand_alone() {
    let run = child(
        "sinks::rotated_files_stand_alone",
        |process| {
            let address = format!("rotate:{}?size=64k&count=100", process.dir().join("s.tel").display());
            process.env("TELEMETRY_FILENAME", address)
        },
        || {
            for _ in 0..20 {
                emit(5_000);
                telemetry::flush();
            }
            vec![]
        },
    );
    let files: Vec<_> =
        (1..).map(|n| run.dir().join(format!("s.{n}.tel"))).take_while(|f| f.exists()).collect();
    assert!(files.len() > 3, "{}", files.len());
    for file in &files {
        assert!(std::fs::metadata(file).expect("a file").len() < 200_000);
        let mut alone = Reader::open(file).expect("a file").order(Order::Stream).events().expect("a stream");
        while alone.next().expect("a readable stream").is_some() {}
        let completeness = alone.completeness();
        assert!(completeness.events > 0 && completeness.damaged_ranges == 0, "{completeness}");
        assert_eq!(completeness.undecodable_parts, 0, "{}: {completeness}", file.display());
    }
    let mut all = Reader::open_all(&files).expect("files").events().expect("a stream");
    while all.next().expect("a readable stream").is_some() {}
    assert!(all.completeness().is_complete(), "{}", all.completeness());
    assert_eq!(all.completeness().events, 100_000);
}

/// A sink may fail before it knows why. The reason replaces that error, and later ones do not.
#[test]
fn the_first_error_with_a_reason_is_kept() {
    struct Fails(u32);
    impl Sink for Fails {
        fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
            self.0 += 1;
            Err(match self.0 {
                1 => io::Error::other("not connected yet"),
                2 => io::Error::from_raw_os_error(libc::ECONNREFUSED),
                _ => io::Error::from_raw_os_error(libc::ENOSPC),
            })
        }
    }
    let test = "sinks::the_first_error_with_a_reason_is_kept";
    let refused = io::Error::from_raw_os_error(libc::ECONNREFUSED).to_string();
    child(
        test,
        |process| process,
        || {
            telemetry::sinks::add(Fails(0)).expect("a sink");
            let failure = || telemetry::counters::by_sink().pop().expect("a sink").failure;
            for expected in ["not connected yet", &refused, &refused] {
                emit(1);
                telemetry::flush();
                assert_eq!(failure().as_deref(), Some(expected));
            }
            vec![]
        },
    );
}

/// At a panic, everything is written, with a sink of the program that panics too. The process
/// continues, and other sinks have all events.
#[test]
fn a_sink_that_panics_in_a_panic() {
    struct Panics;
    impl Sink for Panics {
        fn write(&mut self, _: &Batch<'_>) -> io::Result<()> {
            panic!("in the sink")
        }
    }
    let run = child(
        "sinks::a_sink_that_panics_in_a_panic",
        |process| process.without("TELEMETRY_FILENAME").env("TELEMETRY_LATENCY", "3600"),
        || {
            Config::new().sink(Panics).start().unwrap();
            telemetry::sinks::add(File::new("stream.tel")).expect("a sink");
            emit(10);
            std::panic::catch_unwind(|| panic!("in the program")).expect_err("a panic");
            let [panics, file] = &telemetry::counters::by_sink()[..] else { panic!("two sinks") };
            assert_eq!((panics.written, panics.failure.as_deref()), (0, Some("the sink panicked")));
            // The panic is an event, too.
            assert_eq!((file.written, file.lost), (11, 0));
            emit(10);
            vec![]
        },
    );
    assert!(run.stderr.contains("in the sink") && run.stderr.contains("in the program"), "{}", run.stderr);
    assert_eq!(Counts::of(run.path()).decoded, 20);
}

/// A reader that comes late and reads slowly gets the whole stream in the end, with its last block.
#[test]
fn a_slow_reader_of_a_socket_gets_it_all() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let reader = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        std::thread::sleep(Duration::from_millis(200));
        let mut bytes = Vec::new();
        let mut some = [0; 20_000];
        while let Ok(read @ 1..) = stream.read(&mut some) {
            bytes.extend_from_slice(&some[..read]);
            std::thread::sleep(Duration::from_millis(1));
        }
        bytes
    });
    let run = child(
        "sinks::a_slow_reader_of_a_socket_gets_it_all",
        |process| process.env("TELEMETRY_FILENAME", format!("unix:{}", path.display())),
        || {
            emit(100_000);
            vec![]
        },
    );
    let file = run.dir().join("received.tel");
    std::fs::write(&file, reader.join().expect("a reader")).expect("a file");
    let counts = Counts::of(&file);
    assert_eq!((counts.decoded, counts.lost.events()), (100_000, 0));
    assert!(Stream::read(&file).completeness.is_complete());
}

/// A child that is forked during all this has its own stream beside its parent's.
#[test]
fn a_forked_child_has_a_file_of_its_own() {
    let run = child(
        "sinks::a_forked_child_has_a_file_of_its_own",
        |process| process,
        || {
            emit(100);
            let status = system::fork(|| emit(7));
            assert!(status.success(), "{status}");
            emit(100);
            vec![]
        },
    );
    assert_eq!(run.stream().events.len(), 200);
    assert_eq!(Stream::read(run.path_of_child()).events.len(), 7);
}

/// An invalid address is reported once, and everything else continues.
#[test]
fn a_wrong_address_is_told() {
    let check = |address: &str, why: &str| {
        let run = child(
            "sinks::a_wrong_address_is_told",
            |process| process.env("TELEMETRY_FILENAME", address),
            || {
                emit(10);
                telemetry::flush();
                emit(10);
                telemetry::flush();
                vec![("lost", telemetry::counters::total().lost())]
            },
        );
        let said = format!("cannot write `{address}`: `{address}` is not an address of a sink: {why}");
        assert_eq!(run.stderr.matches(&said).count(), 1, "{}", run.stderr);
    };
    check("tcp:nowhere", "expected a host and a port");
    check("rotate:.", "`.` is a directory, expected the path of a file");
}

/// A slow reader: threads write no faster than it reads, if the policy is to wait.
#[test]
fn threads_wait_for_a_slow_reader() {
    child(
        "sinks::threads_wait_for_a_slow_reader",
        |process| {
            let process = process.env("TELEMETRY_BUFFER", "256k").env("TELEMETRY_POLICY", "wait:30");
            process.without("TELEMETRY_FILENAME")
        },
        || {
            let (mut reader, writer) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
            let sink = telemetry::sinks::Socket::from_unix(writer).expect("a socket").backlog(64 << 10);
            telemetry::Config::new().sink(sink).start().unwrap();
            std::thread::spawn(move || {
                let mut some = vec![0; 64 << 10];
                while reader.read(&mut some).expect("a socket") > 0 {
                    std::thread::sleep(Duration::from_millis(3));
                }
            });
            for number in 0..300_000_u64 {
                crate::work::alloc!(number, number, number, 7);
            }
            telemetry::flush();
            let counters = telemetry::counters::total();
            assert_eq!((counters.lost(), counters.written), (0, 300_000), "{counters:?}");
            vec![]
        },
    );
}

/// Runs a process that emits some events into the default file, which is in its directory.
fn by_default(setup: impl Fn(&std::path::Path)) -> Outcome {
    child(
        "sinks::the_last_stream_is_kept_at_the_default_name",
        |process| {
            setup(process.dir());
            process.without("TELEMETRY_FILENAME")
        },
        || {
            emit(7);
            vec![]
        },
    )
}

/// A second run keeps the stream of the first, at the default name only.
#[test]
fn the_last_stream_is_kept_at_the_default_name() {
    let read = |run: &Outcome, name: &str| std::fs::read(run.dir().join(name)).expect("a file");
    let first = by_default(|_| {});
    assert!(!first.dir().join("telemetry.tel.old").exists());
    let last = read(&first, "telemetry.tel");
    let put = |dir: &std::path::Path, name: &str, bytes: &[u8]| {
        std::fs::write(dir.join(name), bytes).expect("a file");
    };
    // An older stream is replaced.
    let second = by_default(|dir| {
        put(dir, "telemetry.tel", &last);
        put(dir, "telemetry.tel.old", &last[..100]);
    });
    assert_eq!(read(&second, "telemetry.tel.old"), last);
    assert_eq!(Counts::of(second.dir().join("telemetry.tel")).decoded, 7);
    assert_eq!(second.stderr, "");
    // What is not a stream is overwritten as before, and so is the target of a link.
    let other = by_default(|dir| put(dir, "telemetry.tel", b"a note"));
    assert!(!other.dir().join("telemetry.tel.old").exists());
    let link = by_default(|dir| {
        put(dir, "target.tel", &last);
        std::os::unix::fs::symlink("target.tel", dir.join("telemetry.tel")).expect("a link");
    });
    assert!(!link.dir().join("telemetry.tel.old").exists());
    assert_eq!(Counts::of(link.dir().join("target.tel")).decoded, 7);
    // Another file is not replaced.
    let blocked = by_default(|dir| {
        put(dir, "telemetry.tel", &last);
        put(dir, "telemetry.tel.old", b"a note");
    });
    assert_eq!(read(&blocked, "telemetry.tel.old"), b"a note");
    assert_eq!(Counts::of(blocked.dir().join("telemetry.tel")).decoded, 7);
    assert_eq!(
        blocked.stderr,
        "telemetry: [stream-replaced] overwriting the stream of the last run in `telemetry.tel`, since \
         `telemetry.tel.old` is in the way: it is not an old stream of this user\n"
    );
    // A name that the user has chosen is overwritten.
    let chosen = child(
        "sinks::the_last_stream_is_kept_at_the_default_name",
        |process| {
            put(process.dir(), "telemetry.tel", &last);
            process.env("TELEMETRY_FILENAME", "telemetry.tel")
        },
        || {
            emit(7);
            vec![]
        },
    );
    assert!(!chosen.dir().join("telemetry.tel.old").exists());
}
