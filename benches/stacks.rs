//! The cost of an event with a call stack, as a ratio to the floor F:
//! `RUSTFLAGS="-C force-frame-pointers=yes" cargo bench --bench stacks`.
//!
//! With `--instructions` it only counts instructions, and fails if there are more than before. With
//! `--count FRAMES EVENTS` it only emits, for a tool that counts them.

#![allow(missing_docs, clippy::print_stdout)]

mod common;

use std::collections::BTreeMap;
use std::hint::black_box;

use common::{Goal, Row, at_most, floor, of_floor, table, time};
use telemetry::telemetry_event;
use telemetry_decode::{Reader, Value};

#[telemetry_event("tests/registries/stacks.toml")]
pub mod events {}

const EVENTS: u64 = 300_000;
const ROUNDS: usize = 9;
/// The most instructions of an event with 10 and 20 frames.
const MOST: [f64; 2] = [434.0, 641.0];

/// Calls itself this often, and then the function.
#[inline(never)]
fn deeper(left: u64, work: &mut dyn FnMut()) {
    match left {
        0 => work(),
        _ => deeper(left - 1, work),
    }
    black_box(left);
}

#[inline(never)]
fn telemetry_hot_loop(n: u64) {
    for i in 0..n {
        events::reached!(i);
    }
}

/// Emits under this many further frames.
fn emit(further: u64, n: u64) {
    deeper(further, &mut || telemetry_hot_loop(n));
}

/// The number of frames of each stack, in the order of their numbers, as a stream has them.
fn lengths() -> Vec<u64> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    telemetry::recorder::snapshot(file.path()).expect("a snapshot");
    let mut events = Reader::open(file.path()).and_then(Reader::events).expect("a stream");
    let mut lengths = BTreeMap::new();
    while let Some(event) = events.next().expect("a stream") {
        if event.name() == "Stack"
            && let (Some(number), Some(Value::Array(frames))) = (event.value(0), event.value(2))
        {
            lengths.insert(number.as_u64(), frames.len() as u64);
        }
    }
    lengths.into_values().collect()
}

/// On a thread of its own: valgrind gives the main thread a stack that the system does not name.
fn main() {
    std::thread::spawn(run).join().expect("a thread that measures");
}

fn run() {
    let args: Vec<String> = std::env::args().collect();
    telemetry::Config::new().record("all").buffer(1 << 20).start().expect("the first start");
    emit(0, 1);
    let least = lengths().first().copied().unwrap_or(0);
    let frames = |frames: u64| frames.saturating_sub(least);
    if let Some(at) = args.iter().position(|arg| arg == "--count") {
        let number = |at: usize| args.get(at).and_then(|arg| arg.parse().ok()).unwrap_or(20);
        return emit(frames(number(at + 1)), number(at + 2));
    }
    emit(frames(20), 1);
    if lengths().last() != Some(&20) {
        println!("SKIPPED: no frame pointers; help: RUSTFLAGS=\"-C force-frame-pointers=yes\"");
        return;
    }
    if args.iter().any(|arg| arg == "--instructions") {
        return assert!(instructions(), "the walk has become longer");
    }
    let mut rows = vec![
        Row::new("floor F", "ns", Goal::Less),
        Row::new("a u64 and a stack of 10 frames", "F", Goal::Less),
        Row::new("a u64 and a stack of 20 frames", "F", Goal::AtMost(5.0)),
        Row::new("a u64 and a stack of 60 frames", "F", Goal::Less),
    ];
    for _ in 0..ROUNDS {
        let of = |depth| of_floor(EVENTS, |n| emit(frames(depth), n));
        let figures = [time(EVENTS, floor()), of(10), of(20), of(60)];
        for (row, figure) in rows.iter_mut().zip(figures) {
            row.add(figure, 1.0);
        }
    }
    table(rows);
}

/// Counts the instructions of an event with a stack. Returns false if one of the counts has become
/// larger.
fn instructions() -> bool {
    // The largest counts, with the loop.
    let counts =
        [("10", "a u64 and a stack of 10 frames", MOST[0]), ("20", "the same of 20 frames", MOST[1])];
    counts
        .into_iter()
        .all(|(frames, what, most)| at_most(frames, what, most, [10_000, 30_000]).unwrap_or(true))
}
