//! The time that an event of a quiet thread stays in memory.

use std::time::{Duration, Instant};

use telemetry_decode::Reader;
use telemetry_decode::blocks::{Block, Blocks, IndexedBlock, Piece};
use telemetry_format::{BlockType, Cursor, flags};

use crate::support::process::{Outcome, child};
use crate::support::stream::{Owned, Stream};
use crate::work;

/// Far longer than any latency here: a loaded machine may be late.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Waits until the stream has this number of events, without a call into the runtime.
fn wait_for(events: usize) {
    let since = Instant::now();
    loop {
        let path = telemetry::sinks::output();
        // Between two writes, or before the first, there may be nothing to read.
        let found = if path.exists() { Stream::read(&path).events.len() } else { 0 };
        if found == events {
            return;
        }
        assert!(since.elapsed() < TIMEOUT, "{found} events in the stream, expected {events}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The stream of a thread that emits an event, and waits until it is written, five times.
fn five_events(test: &str, begin: impl Fn()) -> Outcome {
    child(
        test,
        |process| process.env("TELEMETRY_LATENCY", "0.05"),
        || {
            begin();
            for number in 0..5_u64 {
                work::alloc!(number, 1_u64 << 40, 3_u64 << number, 0);
                wait_for(number as usize + 1);
            }
            vec![]
        },
    )
}

/// The block number, offset and block flags of each of five events.
fn check(run: &Outcome, expected: impl Fn(u32, &IndexedBlock) -> (u32, u32, u8)) {
    let index = Reader::open(run.path()).expect("a stream").index().expect("a stream");
    let blocks: Vec<IndexedBlock> = index.blocks().collect::<Result<_, _>>().expect("a list in memory");
    assert_eq!(blocks.len(), 5);
    for (number, block) in (0..).zip(&blocks) {
        assert_eq!((block.events, block.before), (1, u64::from(number)));
        assert_eq!((block.seq, block.offset, block.flags & flags::LAST), expected(number, block));
    }
    let stream = run.stream();
    let values: Vec<&[Owned]> = stream.events.iter().map(|event| &event.values[..3]).collect();
    let expected: Vec<_> = (0..5_u32).map(|n| [n.into(), 1 << 40, 3 << n].map(Owned::Number)).collect();
    assert_eq!(values, expected);
    assert!(stream.completeness.is_complete());
}

/// Each event is written in its own block, so damage costs no other event, and its memory is free
/// again.
#[test]
fn an_idle_thread_is_written_within_the_latency() {
    let run = five_events("latency::an_idle_thread_is_written_within_the_latency", || ());
    check(&run, |number, _| (number, 0, flags::LAST));
    // One changed bit anywhere in a block costs the event in it.
    let bytes = std::fs::read(run.path()).expect("a stream");
    let index = Reader::open(run.path()).expect("a stream").index().expect("a stream");
    for block in index.blocks() {
        let block = block.expect("a list in memory");
        for at in block.at..block.at + u64::from(block.len) {
            let mut damaged = bytes.clone();
            damaged[at as usize] ^= 1 << (at % 8);
            let mut events = Reader::from_slice(&damaged).events().expect("a stream");
            let mut found = 0;
            while events.next().expect("a readable stream").is_some() {
                found += 1;
            }
            let completeness = events.completeness();
            assert_eq!(found, 4, "a bit at byte {at}: {completeness}");
            assert_eq!(completeness.missing(), 1, "a bit at byte {at}: {completeness}");
        }
    }
}

/// If the drain cannot stop a thread, one block is written in as many parts as it has events. Each
/// part continues the one before.
#[test]
fn an_idle_thread_without_barriers_is_written_in_parts() {
    let run = five_events(
        "latency::an_idle_thread_without_barriers_is_written_in_parts",
        crate::support::system::refuse_barriers,
    );
    let offset = std::cell::Cell::new(0);
    check(&run, |_, block| {
        let at = offset.get();
        offset.set(at + block.len - telemetry_format::HEADER_LEN as u32);
        (0, at, 0)
    });
}

#[test]
fn a_flush_covers_idle_threads() {
    let run = child(
        "latency::a_flush_covers_idle_threads",
        |process| process.env("TELEMETRY_LATENCY", "3600"),
        || {
            let (emitted, done) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    work::tick!();
                    emitted.wait();
                    done.wait();
                });
                emitted.wait();
                assert!(!telemetry::sinks::output().exists(), "nothing was to be written yet");
                telemetry::flush();
                assert_eq!(Stream::read(telemetry::sinks::output()).events.len(), 1);
                done.wait();
            });
            vec![]
        },
    );
    assert!(run.stream().completeness.is_complete());
}

/// A part of an open block is at least as late as its last event. No event of a lane is earlier
/// than the one before, whatever the processor reorders.
#[test]
fn no_event_is_later_than_its_part() {
    let run = child(
        "latency::no_event_is_later_than_its_part",
        |process| process.env("TELEMETRY_LATENCY", "3600"),
        || {
            std::thread::scope(|scope| {
                let emitter = scope.spawn(|| (0..3_000_000).for_each(|_| work::tick!()));
                while !emitter.is_finished() {
                    telemetry::flush();
                }
            });
            vec![]
        },
    );
    let file = std::fs::File::open(run.path()).expect("a stream");
    let (mut blocks, mut parts, mut ticks) = (Blocks::new(file), 0, 0);
    while let Some(piece) = blocks.next().expect("a readable stream") {
        let Piece::Block(Block { header, payload, .. }) = piece else { panic!("{piece:?}") };
        if header.block_type != BlockType::Events || header.events == 0 {
            continue;
        }
        if header.offset == 0 {
            ticks = header.base_ticks;
        }
        let mut cursor = Cursor::new(payload);
        for _ in 0..header.events {
            cursor.unsigned().expect("a code");
            let passed = cursor.unsigned().expect("a time");
            assert!(passed < 1 << 60, "{passed} ticks");
            ticks += passed;
        }
        assert!(ticks <= header.end_ticks, "{} ticks too late", ticks - header.end_ticks);
        parts += 1;
    }
    assert!(parts > 10, "{parts} parts");
}
