//! One process that lives for long, with every fault at once. Threads come and go, handlers of
//! signals emit, and switches change. Sinks come and go, files meet a full disk, and clients never
//! read. A peer reads slowly and breaks its connections, and children are forked. At the end every
//! event is accounted for, and the memory has not grown.
//!
//! The long run: `cargo xtask soak`.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telemetry::sinks::{File, SinkId, Socket};
use telemetry_decode::blocks::{Blocks, Piece};
use telemetry_decode::{Order, Reader};

use super::{Random, SharedCounts, THREADS, emit, number};
use crate::support::ledger::Ledger;
use crate::support::process::{Numbers, SetOnDrop, child};
use crate::support::system::{self, Alarm};
use crate::{second, work};

/// The seconds of a short run, for a quick look at every fault.
const SHORT: u64 = 5;
/// Below this number of seconds, the memory is still warming up.
const MEASURED: u64 = 120;
/// Far more time than an end takes.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The file by which the process tells its peer that no more faults are wanted.
const OVER: &str = "over";
/// The peer's socket.
const PEER: &str = "peer";

/// Events that handlers have begun to emit.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Emits into lanes that the interrupted thread may be in.
extern "C" fn handler(_: std::ffi::c_int) {
    let next = || HANDLED.fetch_add(1, Ordering::Relaxed);
    work::alloc!(next(), 0_u64, 0_u64, THREADS as u32);
    work::fix!(next(), 0_u64, 0_u64, THREADS as u32);
    second::alloc!(next());
}

fn seconds() -> u64 {
    number("SOAK_SECONDS", SHORT)
}

#[test]
fn a_long_life_with_every_fault() {
    let dir = tempfile::tempdir().expect("a directory");
    let peer = dir.path().join(PEER);
    let listener = UnixListener::bind(&peer).expect("a socket");
    let received = dir.path().join("received.tel");
    let ended = AtomicBool::new(false);
    let run = std::thread::scope(|scope| {
        let reader = scope.spawn(|| receive(&listener, &received, dir.path(), &ended));
        let is_over = SetOnDrop(&ended);
        let run = child(
            "soak::long::a_long_life_with_every_fault",
            |process| {
                process
                    .env(PEER, &peer)
                    .env("TELEMETRY_BUFFER", "1M")
                    .env("TELEMETRY_POLICY", "drop")
                    .env("TELEMETRY_LATENCY", "0.05")
                    .env("TELEMETRY_SOCKET", "./sockets")
                    .env("TELEMETRY_SAMPLING", "cpu:100")
                    .longer(Duration::from_secs(2 * seconds()))
            },
            || live(Duration::from_secs(seconds())),
        );
        drop(is_over);
        reader.join().expect("a reader");
        run
    });
    let ledger = Ledger::of(run.path());
    assert_eq!(ledger.covered + ledger.own, run.number("written"), "{ledger:?}");
    // The peer has each event that it was given, or the stream states its loss.
    let mut events =
        Reader::open(&received).expect("a stream").order(Order::Stream).events().expect("a stream");
    // Children that were forked have sessions of their own.
    let (first, mut found) = (events.sessions()[0].id, 0);
    while let Some(event) = events.next().expect("a readable stream") {
        found += u64::from(event.session().id == first);
    }
    let completeness = events.completeness();
    assert_eq!(completeness.missing(), 0, "{completeness}");
    assert_eq!(found, run.number("written_to_peer"), "{completeness}");
    eprintln!(
        "{} events in {} s, {} of them not written, {found} at the peer; {} KiB, then {} KiB",
        run.number("emitted"),
        seconds(),
        run.number("not_written"),
        run.number("middle_kib"),
        run.number("end_kib"),
    );
}

/// The life of the process.
fn live(long: Duration) -> Numbers {
    let peer = PathBuf::from(std::env::var_os(PEER).expect("a path"));
    let disk = Path::new("disk");
    let has_disk = match system::mount_small_disk(disk, 512 << 10) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("SKIPPED: no small disk to fill: {error}");
            false
        }
    };
    system::on_signal(libc::SIGALRM, handler);
    let told = &SharedCounts::at(Path::new("."));
    telemetry::sinks::add(Socket::unix(&peer)).expect("a sink");
    emit(told, 0, 1);
    let (over, memory) = (&AtomicBool::new(false), &mut Vec::new());
    std::thread::scope(|scope| {
        let threads = std::array::from_fn::<_, THREADS, _>(|slot| {
            scope.spawn(move || {
                let _alarm = Alarm::every(Duration::from_millis(5));
                emit_in_bursts(told, slot, over);
            })
        });
        let disturbers = [
            scope.spawn(|| change_switches_and_sinks(has_disk.then_some(disk), over)),
            scope.spawn(|| fork_and_follow(over)),
        ];
        let since = Instant::now();
        while since.elapsed() < long {
            memory.push(system::anonymous() >> 10);
            std::thread::sleep(Duration::from_millis(100));
        }
        over.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().expect("a thread that only emits"));
        disturbers.into_iter().for_each(|thread| thread.join().expect("one that is wrong about nothing"));
    });
    std::fs::write(peer.with_file_name(OVER), "").expect("a file");
    // A sample after the flush would be in the stream, and not in the counters below.
    system::block_signal(libc::SIGPROF);
    let since = Instant::now();
    while !telemetry::flush() {
        assert!(since.elapsed() < TIMEOUT, "the outputs are not reached");
    }
    let total = telemetry::counters::total();
    assert_eq!(total.emitted(), told.emitted() + HANDLED.load(Ordering::Relaxed), "{total:?}");
    assert_eq!(total.retained, 0, "{total:?}");
    let (middle, end) = (median(memory, 1), median(memory, 2));
    if long.as_secs() >= MEASURED {
        assert!(end <= middle + middle / 20 + 1024, "the memory grows: {middle} KiB, then {end} KiB");
    }
    let sinks = telemetry::counters::by_sink();
    vec![
        ("emitted", total.emitted()),
        ("not_written", total.evicted + total.lost()),
        ("written", sinks[0].written),
        ("written_to_peer", sinks[1].written),
        ("middle_kib", middle),
        ("end_kib", end),
    ]
}

/// Returns the median of one third of the values.
fn median(all: &[u64], third: usize) -> u64 {
    let mut part = all[third * all.len() / 3..(third + 1) * all.len() / 3].to_vec();
    part.sort_unstable();
    part[part.len() / 2]
}

/// Emits some fifty thousand events a second, of all threads together. Some bursts are longer than
/// the memory.
fn emit_in_bursts(told: &SharedCounts, slot: usize, over: &AtomicBool) {
    let mut random = Random(slot as u64);
    while !over.load(Ordering::Relaxed) {
        let rounds = if random.below(50) == 0 { 10_000 } else { 500 };
        match random.below(2) {
            0 => _ = std::thread::scope(|scope| scope.spawn(|| emit(told, slot, rounds)).join()),
            _ => emit(told, slot, rounds),
        }
        std::thread::sleep(Duration::from_millis(150 + random.below(100)));
    }
}

/// Changes switches, flushes, takes snapshots, and adds and removes sinks, also on a full disk. The
/// streams that are complete are checked and removed.
fn change_switches_and_sinks(disk: Option<&Path>, over: &AtomicBool) {
    let mut random = Random(99);
    let mut sinks: Vec<(SinkId, PathBuf)> = Vec::new();
    let mut number = 0;
    let mut end = |(sink, path): (SinkId, PathBuf)| {
        telemetry::sinks::remove(sink);
        // A file begins with its first event.
        if path.parent() != disk && path.exists() {
            Ledger::of(&path);
        }
        _ = std::fs::remove_file(path);
    };
    while !over.load(Ordering::Relaxed) {
        let words = random.of(["all", "Alloc", "work:Inherit", "Precise", "second:Alloc", "Other -Fix"]);
        number += 1;
        match random.below(8) {
            0 => _ = telemetry::flush(),
            1 => {
                let path = format!("snapshot-{number}.tel");
                telemetry::recorder::snapshot(&path).expect("a snapshot");
                Ledger::of(&path);
                _ = std::fs::remove_file(path);
            }
            2 | 3 if sinks.len() < 4 => {
                let folder = disk.filter(|_| random.below(3) == 0).unwrap_or(Path::new(""));
                let path = folder.join(format!("side-{number}.tel"));
                let added = match random.below(2) {
                    0 => telemetry::sinks::add(File::new(&path)),
                    _ => telemetry::sinks::add_for(words, File::new(&path)),
                };
                sinks.extend(added.map(|sink| (sink, path)));
            }
            4 if !sinks.is_empty() => {
                end(sinks.swap_remove(random.below(sinks.len() as u64) as usize));
            }
            5 => telemetry::set(words),
            6 => telemetry::reset(words),
            _ => std::thread::sleep(Duration::from_millis(random.below(100))),
        }
    }
    sinks.into_iter().for_each(&mut end);
    telemetry::set("all");
}

/// Forks children, which have streams of their own, and follows the process as clients that never
/// read.
fn fork_and_follow(over: &AtomicBool) {
    let mut random = Random(7);
    let mut clients: Vec<UnixStream> = Vec::new();
    let socket = Path::new("sockets").join(std::process::id().to_string());
    while !over.load(Ordering::Relaxed) {
        match random.below(4) {
            0 => {
                let status = system::fork(|| (0..100).for_each(|number| second::alloc!(number as u64)));
                assert!(status.success(), "{status}");
                for path in streams_of_children() {
                    Ledger::of(&path);
                    _ = std::fs::remove_file(path);
                }
            }
            1 if clients.len() < 4 => {
                if let Ok(mut client) = UnixStream::connect(&socket) {
                    _ = client.write_all(b"tail all\n");
                    clients.push(client);
                }
            }
            2 => clients.truncate(random.below(4) as usize),
            _ => std::thread::sleep(Duration::from_millis(random.below(1000))),
        }
    }
}

fn streams_of_children() -> Vec<PathBuf> {
    let names = std::fs::read_dir(".").expect("a directory").map(|file| file.expect("a file").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    // A child's name has its number before the extension.
    names.filter(|name| name.ends_with(".tel") && name.matches('.').count() == 2).map(PathBuf::from).collect()
}

/// The peer: reads slowly, and breaks its connections. Keeps the whole blocks of all of them.
fn receive(listener: &UnixListener, received: &Path, dir: &Path, ended: &AtomicBool) {
    let mut random = Random(3);
    let mut file = std::io::BufWriter::new(std::fs::File::create(received).expect("a file"));
    listener.set_nonblocking(true).expect("a socket");
    loop {
        // Read first: a connection of the process may still wait to be accepted.
        let is_last = ended.load(Ordering::Acquire);
        let Ok((mut stream, _)) = listener.accept() else {
            if is_last {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        stream.set_nonblocking(false).expect("a connection");
        let (mut bytes, mut chunk) = (Vec::new(), vec![0; 64 << 10]);
        let most = (100 << 10) + random.below(8 << 20) as usize;
        while let Ok(read @ 1..) = stream.read(&mut chunk) {
            bytes.extend_from_slice(&chunk[..read]);
            if dir.join(OVER).exists() {
                continue;
            }
            if bytes.len() > most {
                // What was sent can still be read. Otherwise the sender could not know its loss.
                _ = stream.shutdown(Shutdown::Read);
                _ = stream.read_to_end(&mut bytes);
                break;
            }
            if random.below(100) == 0 {
                std::thread::sleep(Duration::from_millis(random.below(500)));
            }
        }
        let mut whole = Blocks::new(&bytes[..]);
        while let Some(Piece::Block(block)) = whole.next().expect("a stream") {
            file.write_all(block.bytes).expect("a file");
        }
    }
    file.flush().expect("a file");
}
