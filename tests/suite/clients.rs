//! Slow clients, slow files and absent peers lose only their own events.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telemetry::sinks::{Batch, Sink, Start};
use telemetry::sinks::{File, Socket};

use crate::support::process::child;
use crate::support::stream::{Counts, Stream};
use crate::support::system::anonymous;
use crate::work;

/// Far more time than anything here takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// On a thread that has ended when this returns, so no block is open.
fn emit(events: u64) {
    let emit = move || (0..events).for_each(|number| work::alloc!(number, number, number, 0));
    std::thread::spawn(emit).join().expect("a thread that only emits");
}

/// Emits at a rate, in events per second.
fn emit_slowly(events: u64, rate: f64) {
    let since = Instant::now();
    for number in 0..events {
        while number % 256 == 0 && number as f64 > since.elapsed().as_secs_f64() * rate {
            std::thread::sleep(Duration::from_micros(200));
        }
        work::alloc!(number << 20, number << 20, number << 8, 0);
    }
}

fn wait_for<T>(what: &str, mut get: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(got) = get() {
            return got;
        }
        assert!(since.elapsed() < TIMEOUT, "no {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Asks this process for a `tail`, and returns the connection and the beginning of the answer.
fn tail() -> (UnixStream, [u8; 3]) {
    let path = Path::new("sockets").join(std::process::id().to_string());
    let mut stream = wait_for("control socket", || UnixStream::connect(&path).ok());
    stream.write_all(b"tail all\n").expect("a connection");
    let mut answer = [0; 3];
    stream.read_exact(&mut answer).expect("an answer");
    (stream, answer)
}

/// Thirty clients never read, while a thread emits at a rate that the file can take. The file loses
/// nothing, the memory of all clients is limited, and the losses of each are counted.
#[test]
fn clients_that_never_read() {
    const MAX_CLIENTS: usize = 16;
    // The limit of a client, and the write that exceeds it.
    const CLIENT: u64 = (1 << 20) + (600 << 10);
    const POOL: u64 = 16 << 20;
    const RATE: f64 = 2e6;
    const EVENTS: u64 = 3_000_000;
    let run = child(
        "clients::clients_that_never_read",
        |process| process.env("TELEMETRY_SOCKET", "./sockets").env("TELEMETRY_LATENCY", "0.05"),
        || {
            emit(1);
            telemetry::flush();
            let before = anonymous();
            let clients: Vec<_> = (0..30).map(|_| tail()).collect();
            let followed = clients.iter().filter(|(_, answer)| answer == b"ok\n").count();
            assert_eq!(followed, MAX_CLIENTS);
            wait_for("clients", || (telemetry::counters::by_sink().len() > MAX_CLIENTS).then_some(()));
            std::thread::spawn(|| emit_slowly(EVENTS - 1, RATE)).join().expect("a thread that only emits");
            telemetry::flush();
            let grown = anonymous().saturating_sub(before);
            let most = POOL + CLIENT * MAX_CLIENTS as u64 + (2 << 20);
            assert!(grown < most, "{} KiB, at most {} KiB", grown >> 10, most >> 10);
            let counters = telemetry::counters::by_sink();
            for client in &counters[1..] {
                assert_eq!(client.written + client.lost, EVENTS - 1, "{client:?}");
                assert!(client.lost > 0, "{client:?}");
            }
            vec![("bytes", grown)]
        },
    );
    let counts = Counts::of(run.path());
    assert_eq!((counts.decoded, counts.lost.events()), (EVENTS, 0));
}

/// A snapshot to a place that takes nothing until the file has grown.
#[test]
fn a_slow_snapshot_holds_up_nothing() {
    static TAKES: AtomicBool = AtomicBool::new(false);
    static WAITS: AtomicBool = AtomicBool::new(false);
    struct Slow(File);
    impl Sink for Slow {
        fn begin(&mut self, bytes: usize) -> io::Result<Start> {
            self.0.begin(bytes)
        }

        fn write(&mut self, blocks: &Batch<'_>) -> io::Result<()> {
            WAITS.store(true, Ordering::Relaxed);
            let since = Instant::now();
            while !TAKES.load(Ordering::Relaxed) {
                assert!(since.elapsed() < TIMEOUT, "the file got nothing meanwhile");
                std::thread::sleep(Duration::from_millis(1));
            }
            self.0.write(blocks)
        }
    }
    const RECORDED: u64 = 30_000;
    const OUTPUT: u64 = 500_000;
    let run = child(
        "clients::a_slow_snapshot_holds_up_nothing",
        |process| {
            let process = process.env("TELEMETRY_CONTROL", "Alloc").env("TELEMETRY_RECORD", "Inherit");
            process.env("TELEMETRY_BUFFER", "2M").env("TELEMETRY_LATENCY", "3600")
        },
        || {
            (0..RECORDED).for_each(|number| work::fix!(number, number, number, 7));
            // In an open block: the drain's thread may start late, and begins with a pass for
            // sealed ones.
            (0..10_u64).for_each(|number| work::alloc!(number, number, number, 0));
            let snapshot =
                std::thread::spawn(|| telemetry::recorder::snapshot_to(Slow(File::new("snapshot.tel"))));
            wait_for("snapshot", || WAITS.load(Ordering::Relaxed).then_some(()));
            // More than the pool holds, in pieces that fit what the recorder leaves.
            for _ in 0..OUTPUT / 5_000 {
                emit(5_000);
                telemetry::flush();
            }
            let written = telemetry::counters::by_sink()[0].written;
            assert_eq!(written, OUTPUT + 10);
            // The recorder continues: the snapshot holds none of its memory.
            (0..200_000_u64).for_each(|number| work::fix!(number, number, number, 7));
            assert_eq!(telemetry::counters::total().lost(), 0);
            TAKES.store(true, Ordering::Relaxed);
            snapshot.join().expect("no panic").expect("a snapshot");
            vec![]
        },
    );
    let snapshot = Stream::read(run.dir().join("snapshot.tel"));
    let of = |name| snapshot.events.iter().filter(|event| event.name == name).count() as u64;
    assert_eq!((of("Fix"), of("Alloc")), (RECORDED, 10));
    assert_eq!(Counts::of(run.path()).decoded, OUTPUT + 10);
}

/// Collects a stream from a socket into a file until its other end closes.
fn receive(listener: &UnixListener, path: &Path) {
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut file = std::fs::File::create(path).expect("a file");
    io::copy(&mut stream, &mut file).expect("a stream");
}

/// A peer that comes late gets what was kept for it, and is told how much was not.
#[test]
fn a_peer_that_comes_late() {
    let check = |events: u64, is_all: bool| {
        let run = child(
            "clients::a_peer_that_comes_late",
            |process| process.env("EVENTS", events.to_string()).env("TELEMETRY_LATENCY", "0.05"),
            || {
                let events = std::env::var("EVENTS").ok().and_then(|events| events.parse().ok());
                let events: u64 = events.expect("a number");
                let id = telemetry::sinks::add(Socket::unix("socket")).expect("a sink");
                for _ in 0..events / 10_000 {
                    emit(10_000);
                    telemetry::flush();
                }
                let counters = telemetry::counters::by_sink();
                assert_eq!(counters[1].written + counters[1].lost, events, "{counters:?}");
                assert_eq!((counters[0].written, counters[0].lost), (events, 0));
                let listener = UnixListener::bind("socket").expect("a socket");
                let peer = std::thread::spawn(move || receive(&listener, Path::new("received.tel")));
                // Later blocks tell what was lost before.
                let lost = || telemetry::counters::by_sink()[1].lost;
                wait_for("peer", || {
                    let before = lost();
                    emit(1_000);
                    telemetry::flush();
                    (Path::new("received.tel").exists() && lost() == before).then_some(())
                });
                telemetry::sinks::remove(id);
                peer.join().expect("a peer");
                vec![("emitted", telemetry::counters::total().emitted()), ("lost", counters[1].lost)]
            },
        );
        let counts = Counts::of(run.dir().join("received.tel"));
        assert_eq!(counts.lost.sink == 0, is_all, "{counts:?}");
        assert!(counts.lost.sink >= run.number("lost"), "{counts:?}");
        assert_eq!(counts.emitted(), run.number("emitted"), "{counts:?}");
        assert_eq!(Counts::of(run.path()).decoded, run.number("emitted"));
    };
    check(50_000, true);
    check(1_000_000, false);
}

/// A pipe beside the file, which gets a reader at the very end.
#[test]
fn a_pipe_without_a_reader() {
    let run = child(
        "clients::a_pipe_without_a_reader",
        |process| process,
        || {
            let made = std::process::Command::new("mkfifo").arg("pipe").status().expect("mkfifo");
            assert!(made.success());
            let id = telemetry::sinks::add(File::new("pipe")).expect("a sink");
            for _ in 0..10 {
                emit(10_000);
                telemetry::flush();
            }
            let counters = telemetry::counters::by_sink();
            assert_eq!((counters[0].written, counters[0].lost), (100_000, 0), "{counters:?}");
            assert_eq!((counters[1].written, counters[1].lost), (100_000, 0), "{counters:?}");
            let reader = std::thread::spawn(|| {
                let mut pipe = std::fs::File::open("pipe").expect("a pipe");
                let mut file = std::fs::File::create("piped.tel").expect("a file");
                io::copy(&mut pipe, &mut file).expect("a stream");
            });
            // It is opened when it has a reader.
            wait_for("reader", || {
                telemetry::flush();
                reader
                    .is_finished()
                    .then_some(())
                    .or_else(|| (std::fs::metadata("piped.tel").ok()?.len() > 0).then_some(()))
            });
            telemetry::sinks::remove(id);
            reader.join().expect("a reader");
            vec![]
        },
    );
    assert_eq!(Counts::of(run.dir().join("piped.tel")).decoded, 100_000);
    assert_eq!(Counts::of(run.path()).decoded, 100_000);
}

/// A peer that never comes: what was kept for it is counted as lost in the end.
#[test]
fn a_peer_that_never_comes() {
    let run = child(
        "clients::a_peer_that_never_comes",
        |process| process,
        || {
            telemetry::sinks::add(Socket::unix("socket")).expect("a sink");
            emit(1_000);
            vec![]
        },
    );
    let said = "telemetry: [events-unsent] 1000 events that waited for `unix:socket` were not sent\n";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    assert_eq!(Counts::of(run.path()).decoded, 1_000);
}
