//! How long an event of a thread that has nothing more to say stays in memory.

use std::time::{Duration, Instant};

use telemetry_decode::{Block, Blocks, Piece, Reader};
use telemetry_format::{BlockType, Cursor, flags};

use crate::support::process::child;
use crate::support::stream::{Owned, Stream};
use crate::work;

/// Far more than any latency here; a loaded machine may be late.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until the stream has so many events, without a call into the runtime.
fn wait_for(events: usize) -> Duration {
    let since = Instant::now();
    loop {
        let path = telemetry::filename();
        // Between two writes, or before the first, there may be nothing to read.
        let found = if path.exists() { Stream::read(&path).events.len() } else { 0 };
        if found == events {
            return since.elapsed();
        }
        assert!(since.elapsed() < PATIENCE, "{found} events in the stream, expected {events}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn an_idle_thread_is_written_within_the_latency() {
    let run = child(
        "latency::an_idle_thread_is_written_within_the_latency",
        |process| process.env("TELEMETRY_LATENCY", "0.05"),
        || {
            let mut quickest = Duration::MAX;
            for number in 0..5_u64 {
                work::alloc!(number, 1_u64 << 40, 3_u64 << number, 0);
                quickest = quickest.min(wait_for(number as usize + 1));
            }
            assert!(quickest < Duration::from_millis(500), "the quickest of five took {quickest:?}");
            vec![]
        },
    );
    // One block that was never full, in as many parts as there were events: each goes on where the one
    // before it ended.
    let index = Reader::open(run.path()).expect("a stream").index().expect("a stream");
    let mut offset = 0;
    for (number, block) in index.blocks.iter().enumerate() {
        assert_eq!((block.seq, block.offset, block.events, block.before), (0, offset, 1, number as u64));
        assert_eq!(block.flags & flags::LAST, 0);
        offset += block.len - telemetry_format::HEADER_LEN as u32;
    }
    let stream = run.stream();
    let values: Vec<&[Owned]> = stream.events.iter().map(|event| &event.values[..3]).collect();
    let expected: Vec<_> = (0..5_u32).map(|n| [n.into(), 1 << 40, 3 << n].map(Owned::Number)).collect();
    assert_eq!(values, expected);
    assert!(stream.completeness.is_complete());
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
                assert!(!telemetry::filename().exists(), "nothing was to be written yet");
                telemetry::flush();
                assert_eq!(Stream::read(telemetry::filename()).events.len(), 1);
                done.wait();
            });
            vec![]
        },
    );
    assert!(run.stream().completeness.is_complete());
}

/// Parts of a block that is being written are as late as their last event at least, and no event of a lane is
/// earlier than the one before, whatever the processor does out of order.
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
