//! The replay trait that the macro makes: a stream drives a program's own replayer.

#![allow(missing_docs)]

use std::time::{Duration, Instant};

use events::Replay;
use telemetry::decode::replay::{Live, Op, Origin, Pace, Place, ReplayError, Step};
use telemetry::decode::writer::{Lane, Writer};
use telemetry::decode::{Error, Facts, Reader, Value};
use telemetry::telemetry_event;

#[telemetry_event("examples/alloc_trace/events.toml", decode)]
pub mod events {}

const REGISTRY: &str = include_str!("../examples/alloc_trace/events.toml");

/// An allocator that only remembers, and has no room for more than a page.
#[derive(Default)]
struct Heap {
    live: Live,
    done: Vec<String>,
    number: u64,
}

impl Heap {
    fn step(&mut self, step: Step, place: &Place<'_>) -> Result<(), String> {
        self.number += 1;
        let (offset, thread, session) = (place.offset(), place.thread(), place.session());
        let (time_ns, session) = (place.time_ns(), session.id);
        let number = self.number;
        let origin = Origin { number, offset, time_ns, session, thread, registry: 0, code: 0 };
        match self.live.step(step, &origin) {
            Some(Op::Alloc { size, .. } | Op::Realloc { size, .. }) if size > 4096 => {
                return Err(format!("{size} bytes are too many"));
            }
            op => self.done.push(format!("{op:?}")),
        }
        Ok(())
    }
}

impl Replay for Heap {
    type Error = String;

    fn allocated(&mut self, event: &events::Allocated, place: &Place<'_>) -> Result<(), String> {
        let (pointer, size, align) = (event.block, event.size, event.align.into());
        self.step(Step::Alloc { pointer, size, align }, place)
    }

    fn freed(&mut self, event: &events::Freed, place: &Place<'_>) -> Result<(), String> {
        self.step(Step::Free { pointer: event.block, size: Some(event.size) }, place)
    }

    fn resized(&mut self, event: &events::Resized, place: &Place<'_>) -> Result<(), String> {
        let events::Resized { old, block: pointer, size, align, .. } = *event;
        self.step(Step::Realloc { old, pointer, size, align: align.into() }, place)
    }
}

/// A stream of a thread that allocates, of one that makes it larger, by `size` bytes, and frees it.
fn stream(size: u64) -> Vec<u8> {
    stream_of(REGISTRY, size)
}

fn stream_of(registry: &str, size: u64) -> Vec<u8> {
    stream_until(registry, size, 40_000_000)
}

/// A recording whose last event has this time.
fn stream_until(registry: &str, size: u64, last_ns: u64) -> Vec<u8> {
    let registry = telemetry_schema::parse(registry).unwrap();
    let mut writer = Writer::new(Vec::new());
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(3, &facts, 0, 1_700_000_000_000_000_000).unwrap();
    let registry = writer.registry(3, &registry).unwrap();
    let lane = |thread| Lane { session: 3, thread, registry };
    let (block, moved) = (Value::Addr(0x1000), Value::Addr(0x2000));
    // Each thread's events stand together: the order of time is not that of the stream.
    writer.event(lane(1), 1, 1_000, &[block, Value::Word(10), Value::Unsigned(8)]).unwrap();
    writer.event(lane(1), 2, last_ns, &[moved, Value::Word(size)]).unwrap();
    writer.event(lane(2), 3, 20_000_000, &[block, moved, Value::Word(size), Value::Unsigned(8)]).unwrap();
    writer.end(3, last_ns + 10_000_000).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_stream_drives_a_programs_own_replayer() {
    let stream = stream(99);
    let mut heap = Heap::default();
    let replayed = heap.replay(Reader::from_slice(&stream), Pace::Fast).unwrap();
    assert_eq!((replayed.events, replayed.others), (3, 0));
    assert!(replayed.completeness.is_complete());
    assert_eq!(
        heap.done,
        [
            "Some(Alloc { slot: 0, size: 10, align: 8 })",
            "Some(Realloc { slot: 0, size: 99 })",
            "Some(Free { slot: 0 })"
        ]
    );
    let (faults, totals) = heap.live.finish();
    assert_eq!((faults.len(), totals.peak_bytes, totals.live_bytes, totals.asked_bytes), (0, 99, 0, 109));
}

#[test]
fn what_a_replayer_refuses_ends_the_replay() {
    let stream = stream(5000);
    let mut heap = Heap::default();
    let error = heap.replay(Reader::from_slice(&stream), Pace::Fast).unwrap_err();
    let ReplayError::Event { event, number, time_ns, thread, offset, ref cause } = error else {
        panic!("{error}")
    };
    assert_eq!((event, number, time_ns, thread), ("Resized", 2, 20_000_000, 2));
    assert_eq!(cause, "5000 bytes are too many");
    // The bytes there are the event's: its code, in a varint.
    assert_eq!(stream[offset as usize], 3 << 1 | 1, "{offset}");
    assert_eq!(
        error.to_string(),
        format!("event 2, `Resized` of thread 2 at 20000000 ns, byte {offset}: 5000 bytes are too many")
    );
    assert_eq!(heap.done.len(), 1);
}

#[test]
fn another_major_version_is_not_replayed() {
    let stream = stream_of(&REGISTRY.replace("major = 1", "major = 2"), 99);
    let error = Heap::default().replay(Reader::from_slice(&stream), Pace::Fast).unwrap_err();
    assert!(matches!(error, ReplayError::Read(Error::Version(_))), "{error:?}");
    let said = "cannot read the stream: registry `heap` has version 2.0.0 in the stream, 1.0.0 in this";
    assert!(error.to_string().starts_with(said), "{error}");
}

#[test]
fn a_recording_keeps_its_pace_on_request() {
    let replay = |stream: &[u8], pace| Heap::default().replay(Reader::from_slice(stream), pace).unwrap();
    let stream = stream(99);
    let took = |pace| {
        let since = Instant::now();
        replay(&stream, pace);
        since.elapsed()
    };
    // 40 ms are between the first and the last.
    assert!(took(Pace::Recorded(1.0)) >= Duration::from_millis(39));
    assert!(took(Pace::Recorded(0.5)) >= Duration::from_millis(79));
    assert!(took(Pace::Recorded(f64::NAN)) >= Duration::from_millis(39));
    // A recording of a day ends at once.
    let day = stream_until(REGISTRY, 99, 86_400_000_000_000);
    replay(&day, Pace::Fast);
    replay(&day, Pace::Recorded(1e9));
}
