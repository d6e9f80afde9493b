//! Connections that break while blocks wait for them.

use std::io::Read;
use std::net::Shutdown;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telemetry::sinks::Socket;
use telemetry_decode::Reader;
use telemetry_decode::blocks::{Blocks, Piece};

use crate::support::process::child;
use crate::work;

/// Far more time than anything here takes.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Number of connections that break.
const BROKEN: usize = 3;
/// More events than fit into the system's buffer, and fewer than the sink keeps.
const EVENTS: u64 = 100_000;

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < TIMEOUT, "no {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// On a thread that has ended when this returns.
fn emit(events: u64) {
    let emit = move || (0..events).for_each(|number| work::alloc!(number << 20, number, number << 8, 0));
    std::thread::spawn(emit).join().expect("a thread that only emits");
}

/// True once the process is to become quiet.
static IS_OVER: AtomicBool = AtomicBool::new(false);

fn emit_until_over() {
    while !IS_OVER.load(Ordering::Relaxed) {
        (0..100_u64).for_each(|number| work::fix!(number, number, number, 7));
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// The peer of a process: breaks connections when the process says so, and reads what was sent.
/// Returns the whole blocks of all connections.
fn receive(listener: &UnixListener, dir: &Path) -> Vec<u8> {
    let mut blocks = Vec::new();
    for connection in 0..=BROKEN {
        let (mut stream, _) = listener.accept().expect("a connection");
        if connection < BROKEN {
            wait_for("sign", || dir.join(connection.to_string()).exists());
            stream.shutdown(Shutdown::Read).expect("a connection");
        }
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("a connection");
        let mut whole = Blocks::new(&bytes[..]);
        while let Some(Piece::Block(block)) = whole.next().expect("a stream") {
            blocks.extend_from_slice(block.bytes);
        }
    }
    blocks
}

/// Runs a process whose connections break while blocks wait, and compares its losses with those
/// that its stream states. Events that only waited are lost for the sink; none is missing.
fn check(test: &str, is_busy: bool, is_sole: bool) {
    let dir = tempfile::tempdir().expect("a directory");
    let peer = dir.path().join("peer");
    let listener = UnixListener::bind(&peer).expect("a socket");
    let reader = std::thread::spawn({
        let dir = dir.path().to_owned();
        move || receive(&listener, &dir)
    });
    let run = child(
        test,
        |process| {
            let process = process.env("PEER", &peer).env("TELEMETRY_SUMMARY", "on");
            if is_sole {
                process.env("TELEMETRY_FILENAME", format!("unix:{}", peer.display()))
            } else {
                process
            }
        },
        || {
            let peer = std::env::var_os("PEER").expect("a path");
            let peer = Path::new(&peer);
            if !is_sole {
                telemetry::sinks::add(Socket::unix(peer)).expect("a sink");
            }
            // The first event starts the runtime.
            emit(1);
            let of_peer = || telemetry::counters::by_sink().pop().expect("a sink");
            let busy = is_busy.then(|| std::thread::spawn(emit_until_over));
            for connection in 0..BROKEN {
                let before = of_peer();
                emit(EVENTS);
                wait_for("block", || of_peer().written >= before.written + EVENTS);
                std::fs::File::create(peer.with_file_name(connection.to_string())).expect("a file");
                wait_for("error", || of_peer().lost > before.lost);
            }
            IS_OVER.store(true, Ordering::Relaxed);
            if let Some(thread) = busy {
                thread.join().expect("a thread that only emits");
            }
            wait_for("connection", telemetry::flush);
            let total = telemetry::counters::total();
            let lost = if is_sole { 0 } else { of_peer().lost } + total.lost_sink;
            assert_eq!(total.retained, 0, "{total:?}");
            vec![("emitted", total.emitted()), ("lost", lost)]
        },
    );
    let stream = reader.join().expect("a reader");
    let mut events = Reader::from_slice(&stream).events().expect("a stream");
    let mut found = 0;
    while let Some(event) = events.next().expect("a readable stream") {
        found += u64::from(event.registry().name == "work");
    }
    let completeness = events.completeness();
    let (lost, emitted) = (run.number("lost"), run.number("emitted"));
    assert_eq!(completeness.missing(), 0, "{completeness}");
    assert_eq!((completeness.lost().sink, found + lost), (lost, emitted), "{completeness}");
    let says = run.stderr.contains(" events lost: not written; ");
    assert_eq!(says, is_sole, "{}", run.stderr);
}

#[test]
fn what_waited_is_lost() {
    check("broken::what_waited_is_lost", false, true);
}

/// A thread emits all the time, so blocks are open when the connections break. The next reader gets
/// them from their beginning.
#[test]
fn what_waited_of_open_blocks_is_sent_again() {
    check("broken::what_waited_of_open_blocks_is_sent_again", true, true);
}

/// The other sink has all events.
#[test]
fn what_waited_is_lost_for_one_of_two_sinks() {
    check("broken::what_waited_is_lost_for_one_of_two_sinks", true, false);
}
