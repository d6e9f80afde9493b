//! One process that lives for long, with every fault at once. Threads come and go, handlers of
//! signals emit, and switches change. Limits leave events out. Sinks come and go, files meet a full
//! disk, and clients never read. Two peers read slowly and break their connections, and children
//! are forked. The process has a ring file. Others beside it are killed while they write theirs. At
//! the end every event is accounted for, and the memory has not grown.
//!
//! The long run: `cargo xtask soak`.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telemetry::sinks::{File, SinkId};

use super::kills::kill_and_restart;
use super::peers::Peer;
use super::{Random, SharedCounts, THREADS, emit, limits, number, ring_file};
use crate::ends::optimized_ring;
use crate::support::ledger::Ledger;
use crate::support::process::{Numbers, SetOnDrop, child};
use crate::support::system::{self, Alarm};
use crate::{second, work};

/// The seconds of a short run, for a quick look at every fault.
const SHORT: u64 = 5;
/// Below this number of seconds, the memory is still warming up.
const MEASURED: u64 = 120;
/// Far more time than an end takes.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
/// Events of a child that limits may leave out.
const REFUSED: u64 = 100;

/// Events that handlers have begun to emit, without those that have limits.
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Emits into lanes that the interrupted thread may be in.
extern "C" fn handler(_: std::ffi::c_int) {
    let next = || HANDLED.fetch_add(1, Ordering::Relaxed);
    work::alloc!(next(), 0_u64, 0_u64, THREADS as u32);
    work::fix!(next(), 0_u64, 0_u64, THREADS as u32);
    second::alloc!(next());
    limits::refuse();
}

fn seconds() -> u64 {
    number("SOAK_SECONDS", SHORT)
}

#[test]
fn a_long_life_with_every_fault() {
    let (ended, kills) = (&AtomicBool::new(false), &OnceLock::new());
    let run = std::thread::scope(|scope| {
        let _is_over = SetOnDrop(ended);
        child(
            "soak::long::a_long_life_with_every_fault",
            move |process| {
                // Only the parent is here. It builds first what it kills later.
                optimized_ring();
                Peer::ALL.iter().for_each(|peer| peer.start(scope, process.dir(), ended));
                scope.spawn(move || kills.set(kill_and_restart(ended)));
                process
                    .env("TELEMETRY_BUFFER", "1M")
                    .env("TELEMETRY_POLICY", "drop")
                    .env("TELEMETRY_LATENCY", "0.05")
                    .env("TELEMETRY_RING", ring_file::RING)
                    .env("TELEMETRY_SOCKET", "./sockets")
                    .env("TELEMETRY_SAMPLING", "cpu:100")
                    .longer(Duration::from_secs(2 * seconds()))
            },
            || live(Duration::from_secs(seconds())),
        )
    });
    let kills = kills.get().expect("the kills");
    let ledger = Ledger::of(run.path());
    assert_eq!(ledger.covered + ledger.own, run.number("written"), "{ledger:?}");
    let left_out = limits::check(&run);
    assert_eq!(run.number("emitted") + left_out, run.number("called"), "{left_out} left out");
    let [by_unix, by_tcp] = Peer::ALL.map(|peer| peer.check(&run));
    // All events are in the stream, so the process has removed its file.
    assert_eq!(ring_file::left(run.dir()), [""; 0]);
    eprintln!(
        "{} events in {} s, {} of them not written, and {left_out} more left out; {} read at the Unix \
         socket, {} at the TCP port, {} missing there; {} KiB, then {} KiB; {} processes killed with {} \
         events, {} of them after a restart",
        run.number("emitted"),
        seconds(),
        run.number("not_written"),
        by_unix.found,
        by_tcp.found,
        by_tcp.missing,
        run.number("middle_kib"),
        run.number("end_kib"),
        kills.processes,
        kills.events,
        kills.restarts,
    );
}

/// The life of the process.
fn live(long: Duration) -> Numbers {
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
    Peer::ALL.iter().for_each(|peer| peer.add_sink());
    // The registries are in use before any change.
    emit(told, 0, 1);
    limits::emit(1);
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
            memory.push((system::anonymous() + ring_file::len()) >> 10);
            std::thread::sleep(Duration::from_millis(100));
        }
        over.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().expect("a thread that only emits"));
        disturbers.into_iter().for_each(|thread| thread.join().expect("one that is wrong about nothing"));
    });
    // A sample after the flush would be in the stream, and not in the counters below.
    system::block_signal(libc::SIGPROF);
    settle(told);
    let total = telemetry::counters::total();
    assert_eq!(total.retained, 0, "{total:?}");
    ring_file::check();
    let (middle, end) = (median(memory, 1), median(memory, 2));
    if long.as_secs() >= MEASURED {
        assert!(end <= middle + middle / 20 + 1024, "the memory grows: {middle} KiB, then {end} KiB");
    }
    let sinks = telemetry::counters::by_sink();
    let mut numbers = limits::numbers();
    numbers.extend([
        ("called", told.emitted() + HANDLED.load(Ordering::Relaxed) + limits::emitted()),
        ("emitted", total.emitted()),
        ("not_written", total.evicted + total.lost()),
        ("written", sinks[0].written),
        ("middle_kib", middle),
        ("end_kib", end),
    ]);
    numbers.extend(Peer::ALL.iter().zip(&sinks[1..]).map(|(peer, sink)| (peer.written(), sink.written)));
    numbers
}

/// Emits and flushes until each peer has a connection that stays, and the sinks have everything.
fn settle(told: &SharedCounts) {
    let since = Instant::now();
    let wait = |what: &str| {
        assert!(since.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    };
    Peer::end_faults();
    // Now there is memory for the events that say how many were left out in the end.
    telemetry::flush();
    limits::emit(100);
    while !Peer::ALL.iter().all(|peer| peer.is_settled()) {
        // Only a write notices that a connection is broken.
        emit(told, 0, 1);
        telemetry::flush();
        wait("a peer is not reached");
    }
    while !telemetry::flush() {
        wait("the sinks do not get everything");
    }
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
            0 => _ = std::thread::scope(|scope| scope.spawn(|| emit_all(told, slot, rounds)).join()),
            _ => emit_all(told, slot, rounds),
        }
        std::thread::sleep(Duration::from_millis(150 + random.below(100)));
    }
}

/// Emits events of all registries.
fn emit_all(told: &SharedCounts, slot: usize, rounds: u64) {
    emit(told, slot, rounds);
    limits::emit(rounds / 10);
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
        // None of them names an event with a limit that is emitted.
        let words = random.of([
            "work:all second:all",
            "Alloc",
            "work:Inherit",
            "Precise",
            "second:Alloc",
            "Other -Fix",
        ]);
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
                let status = system::fork(|| {
                    for number in 0..REFUSED {
                        second::alloc!(number);
                        limits::refuse();
                    }
                });
                assert!(status.success(), "{status}");
                for path in streams_of_children() {
                    Ledger::of(&path);
                    limits::check_refused(&path, REFUSED);
                    _ = std::fs::remove_file(path);
                }
                ring_file::check_children();
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
