//! Programs that do everything at once: eight threads emit, and other threads start and end.
//! Meanwhile control changes, and sinks come and go. There are flushes, snapshots, small pools with
//! every policy, and all kinds of ends. Afterwards every event is accounted for.
//!
//! The long run: `SOAK_EVENTS=100000000 cargo test --release --test suite soak:: -- --nocapture`.

mod kills;
mod limits;
mod long;
mod peers;
mod ring_file;

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use telemetry::sinks::SinkId;
use telemetry_decode::{Order, Reader};

use crate::support::ledger::Ledger;
use crate::support::process::{Outcome, Process};
use crate::support::stream::Counts;
use crate::support::system;
use crate::{second, work};

/// The number of threads that emit.
const THREADS: usize = 8;
/// The variable that gives a process of this test its life.
const SEED: &str = "TELEMETRY_TEST_SOAK";
/// The file where threads report to the parent, however they end.
const TOLD: &str = "told";

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// When all threads have ended.
    Return,
    /// By `exit`, while threads emit.
    Exit,
    /// By `abort`, or by a signal that cannot be handled; with a ring file.
    Abort,
    Kill,
}

/// The actions of a process in its life, derived from a number.
#[derive(Debug, Clone, Copy)]
struct Life {
    seed: u64,
    end: End,
    /// Masks change, and memory may run out. Otherwise every event is in the stream or in the ring
    /// file.
    changes: bool,
    buffer: &'static str,
    policy: &'static str,
    latency: &'static str,
    /// Events of each thread.
    events: u64,
}

impl Life {
    fn new(seed: u64) -> Life {
        let mut random = Random(seed);
        let end =
            [End::Return, End::Kill, End::Return, End::Exit, End::Return, End::Abort][seed as usize % 6];
        let changes = end == End::Return && seed % 12 < 6;
        Life {
            seed,
            end,
            changes,
            buffer: random.of(if changes { ["256k", "1M", "2M", "16M"] } else { ["2M", "2M", "4M", "16M"] }),
            policy: if changes { random.of(["drop", "overwrite", "drop", "wait:0.01"]) } else { "wait:100" },
            latency: random.of(["0.003", "0.02", "0.1", "1"]),
            events: if cfg!(debug_assertions) { 20_000 } else { 300_000 },
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % most
    }

    fn of<T: Copy, const N: usize>(&mut self, choice: [T; N]) -> T {
        choice[self.below(N as u64) as usize]
    }
}

/// The numbers that one thread reports: events that it has begun to emit, and emitters that have
/// returned.
struct SharedCounts(&'static [AtomicU64; 512]);

impl SharedCounts {
    fn at(dir: &Path) -> SharedCounts {
        SharedCounts(system::shared_numbers(&dir.join(TOLD)))
    }

    fn begun(&self, slot: usize) -> &AtomicU64 {
        &self.0[slot * 2]
    }

    fn returned(&self, slot: usize) -> &AtomicU64 {
        &self.0[slot * 2 + 1]
    }

    /// As `returned` was when the process was about to exit.
    fn at_exit(&self, slot: usize) -> &AtomicU64 {
        &self.0[slot + 2 * THREADS]
    }

    /// Events of all threads.
    fn emitted(&self) -> u64 {
        (0..THREADS).map(|slot| self.begun(slot).load(Ordering::Relaxed)).sum()
    }
}

/// Emits as one of the threads, `rounds` times. Each event has the number of earlier ones that were
/// on.
fn emit(told: &SharedCounts, slot: usize, rounds: u64) {
    let begun = told.begun(slot);
    let number = Cell::new(begun.load(Ordering::Relaxed));
    let next = || {
        let this = number.replace(number.get() + 1);
        begun.store(this + 1, Ordering::Relaxed);
        this
    };
    let level = slot as u32;
    let done = || told.returned(slot).store(number.get(), Ordering::Release);
    for round in 0..rounds {
        work::alloc!(next(), round << (round % 40), 7_u64, level);
        done();
        work::fix!(next(), round, 7_u64, level);
        done();
        if round % 4 == 0 {
            work::named!(next(), round, 7_u64, level, &"a name that may be long"[..round as usize % 23]);
            done();
            second::alloc!(next() | (slot as u64) << 56);
            done();
        }
    }
}

/// Runs the life of a process. It checks its own counts; the parent checks the rest.
fn live(life: Life) {
    let told = &SharedCounts::at(Path::new("."));
    let over = &AtomicBool::new(false);
    // The registries are in use before any change.
    emit(told, 0, 1);
    std::thread::scope(|scope| {
        let threads = [0, 1, 2, 3, 4, 5, 6, 7].map(|slot| {
            scope.spawn(move || {
                let mut random = Random(life.seed ^ slot as u64);
                let mut rounds = life.events / 3;
                while rounds > 0 {
                    // From a short-lived thread, or from this one.
                    let some = (1 + random.below(life.events / 10)).min(rounds);
                    match random.below(2) {
                        0 => _ = std::thread::scope(|scope| scope.spawn(|| emit(told, slot, some)).join()),
                        _ => emit(told, slot, some),
                    }
                    rounds -= some;
                }
            })
        });
        let disturber = scope.spawn(|| disturb(life, over));
        if matches!(life.end, End::Exit | End::Abort) {
            while told.emitted() < THREADS as u64 * life.events / 2 {
                std::thread::yield_now();
            }
            for slot in 0..THREADS {
                told.at_exit(slot).store(told.returned(slot).load(Ordering::Acquire), Ordering::Relaxed);
            }
            match life.end {
                End::Exit => std::process::exit(0),
                _ => std::process::abort(),
            }
        }
        threads.into_iter().for_each(|thread| thread.join().expect("a thread that only emits"));
        over.store(true, Ordering::Relaxed);
        disturber.join().expect("one that is wrong about nothing");
    });
    telemetry::flush();
    let counters = telemetry::counters::total();
    assert_eq!(counters.emitted(), told.emitted(), "{life:?} {counters:?}");
    let main = telemetry::counters::by_sink().swap_remove(0);
    let path = telemetry::sinks::output();
    let ledger = if path.exists() { Ledger::of(path) } else { Ledger::default() };
    assert_eq!(main.written, ledger.covered + ledger.own, "{life:?} {main:?} {ledger:?}");
    std::process::exit(0);
}

/// The actions of a program while its threads emit.
fn disturb(life: Life, over: &AtomicBool) {
    let mut random = Random(!life.seed);
    let mut sinks: Vec<SinkId> = Vec::new();
    let mut snapshots = 0;
    while !over.load(Ordering::Relaxed) {
        let words = random.of(["all", "Alloc", "work:Inherit", "Precise", "second:Alloc", "work -Fix"]);
        match random.below(if life.changes { 9 } else { 4 }) {
            0 => _ = telemetry::flush(),
            1 if snapshots < 20 => {
                let path = format!("snapshot-{snapshots}.tel");
                let taken = telemetry::recorder::snapshot(&path);
                assert!(taken.is_ok() || life.end == End::Exit, "{taken:?}");
                snapshots += 1;
            }
            2 if sinks.len() < 3 => {
                let follows = random.below(2) == 0;
                let file = telemetry::sinks::File::new(format!("side-{}.tel", random.below(1 << 40)));
                let added = match follows {
                    true => telemetry::sinks::add(file),
                    false => telemetry::sinks::add_for(words, file),
                };
                sinks.extend(added);
            }
            3 if !sinks.is_empty() => {
                telemetry::sinks::remove(sinks.swap_remove(random.below(sinks.len() as u64) as usize));
            }
            4 => telemetry::set(words),
            5 => telemetry::reset(words),
            6 => telemetry::recorder::set(words),
            7 => telemetry::recorder::reset(words),
            _ => std::thread::sleep(Duration::from_micros(random.below(3000))),
        }
    }
    sinks.into_iter().for_each(|sink| _ = telemetry::sinks::remove(sink));
}

/// Runs a life and checks its results. Returns the number of its events.
fn run(life: Life) -> u64 {
    let exe = std::env::current_exe().expect("the path of this test");
    let process = ["soak::every_event_is_accounted_for", "--exact", "--nocapture", "--test-threads=1"]
        .iter()
        .fold(Process::new(exe), |process, arg| process.arg(arg))
        .env(SEED, life.seed.to_string())
        .env("TELEMETRY_BUFFER", life.buffer)
        .env("TELEMETRY_POLICY", life.policy)
        .env("TELEMETRY_LATENCY", life.latency);
    let process = match life.end {
        End::Abort | End::Kill => process.env("TELEMETRY_RING", "ring"),
        _ => process,
    };
    let run = match life.end {
        End::Kill => process.killed_after(Duration::from_millis(20 + Random(life.seed).below(700))),
        _ => process.run(),
    };
    let is_as_planned = run.status.success() || matches!(life.end, End::Abort | End::Kill);
    assert!(is_as_planned, "{life:?} {}\n{}\n{}", run.status, run.stdout, run.stderr);
    check(life, &run);
    SharedCounts::at(run.dir()).emitted()
}

fn check(life: Life, run: &Outcome) {
    let files = std::fs::read_dir(run.dir()).expect("a directory").map(|file| file.expect("a file").path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "tel")) {
        if matches!(life.end, End::Return) && path != run.path() {
            let ledger = Ledger::of(&path);
            assert_eq!(ledger.covered, Counts::of(&path).decoded, "{path:?}");
        }
    }
    let told = SharedCounts::at(run.dir());
    if life.changes {
        return;
    }
    // Everything is on, and memory never runs out: every emitted event is there, once.
    let recovered = run.dir().join("recovered");
    let path = match life.end {
        End::Return | End::Exit => run.path(),
        End::Abort | End::Kill => {
            let images = [run.dir().join("ring"), run.path()];
            let images: Vec<_> = images.into_iter().filter(|path| path.exists()).collect();
            if images.is_empty() {
                // Killed before its first event.
                assert_eq!(told.emitted(), 0, "{life:?}");
                return;
            }
            let mut file = std::fs::File::create(&recovered).expect("a file");
            Reader::open_all(images).expect("images").recover(&mut file).expect("what is left");
            recovered
        }
    };
    let there = Numbers::of(&path);
    for slot in 0..THREADS {
        let returned = match life.end {
            End::Exit => told.at_exit(slot),
            _ => told.returned(slot),
        };
        there.check(slot, returned.load(Ordering::Relaxed), told.begun(slot).load(Ordering::Relaxed));
    }
}

/// The numbers of the events of every thread that are in a stream.
struct Numbers([Vec<bool>; THREADS]);

impl Numbers {
    fn of(path: &Path) -> Numbers {
        let mut numbers = Numbers([const { Vec::new() }; THREADS]);
        let mut events =
            Reader::open(path).expect("a stream").order(Order::Stream).events().expect("a stream");
        while let Some(event) = events.next().expect("a readable stream") {
            let value = |index| event.value(index).and_then(|value| value.as_i128());
            let (Some(first), level) = (value(0), value(3)) else { continue };
            let (slot, number) = match (event.registry().name.as_str(), level) {
                ("work", Some(level)) => (level as usize, first as u64),
                ("second", None) => ((first >> 56) as usize, first as u64 & ((1 << 56) - 1)),
                _ => continue,
            };
            let slot = &mut numbers.0[slot];
            let number = number as usize;
            slot.resize(slot.len().max(number + 1), false);
            assert!(!std::mem::replace(&mut slot[number], true), "event {number} is there twice");
        }
        numbers
    }

    /// All below `returned` are there, and none from `begun` on.
    fn check(&self, slot: usize, returned: u64, begun: u64) {
        let there = &self.0[slot];
        let missing = (0..returned as usize).find(|&number| !there.get(number).copied().unwrap_or(false));
        assert_eq!(missing, None, "an event of thread {slot} is missing, of {returned} that had returned");
        assert!(
            there.len() as u64 <= begun,
            "{} events of thread {slot}, which has begun {begun}",
            there.len()
        );
    }
}

/// Returns the number that a variable of the soak's has, or another one.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().expect("a number of the soak's"))
}

#[test]
fn every_event_is_accounted_for() {
    if let Some(seed) = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok()) {
        live(Life::new(seed));
    }
    let (wanted, mut seed, mut emitted) = (number("SOAK_EVENTS", 1), number("SOAK_SEED", 1), 0);
    let last = seed + 6;
    while emitted < wanted || seed < last {
        emitted += run(Life::new(seed));
        seed += 1;
    }
    eprintln!("{emitted} events, all accounted for; lives {} to {}", number("SOAK_SEED", 1), seed - 1);
}
