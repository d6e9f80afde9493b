//! Makes steps of an allocator from arbitrary bytes, and replays them: as they are, and from a
//! stream of them. All operations can be done, and are the same in both ways. If a byte of the
//! stream is changed, no event is unaccounted for.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use events::Replay;
use libfuzzer_sys::fuzz_target;
use telemetry::telemetry_event;
use telemetry_decode::replay::{Live, Op, Origin, Pace, Place, ReplayError, Step};
use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Error, Facts, Order, Reader, Registry, Typed, Value};
use telemetry_fuzz::make_checksums_right;

#[telemetry_event("../examples/alloc_trace/events.toml", decode)]
pub mod events {}

/// Without pauses, but with the times of events.
const PACE: Pace = Pace::Recorded(f64::MAX);
/// The most faults that are listed.
const MAX_LISTED: u64 = 1000;

fuzz_target!(|data: &[u8]| {
    let Some((&[mode, low, high, change], rest)) = data.split_first_chunk::<4>() else { return };
    let mut steps: Vec<_> = rest.as_chunks::<4>().0.iter().map(|bytes| step(*bytes)).collect();
    do_all(&steps);
    // The events of the stream always have a size.
    for (step, _) in &mut steps {
        if let Step::Free { size, .. } = step {
            *size = Some(size.unwrap_or(0));
        }
    }
    let expected = do_all(&steps);
    let mut bytes = write(&steps);
    if change == 0 {
        assert_eq!(read(&bytes), steps);
        let limit = if mode & 2 != 0 { 100 } else { u64::MAX };
        return replay(&bytes, &steps, &expected, limit);
    }
    let at = usize::from(u16::from_le_bytes([low, high])) % bytes.len();
    bytes[at] ^= change;
    if mode & 1 != 0 {
        make_checksums_right(&mut bytes);
    }
    replay_changed(&bytes);
});

/// Makes a step from four bytes, and the thread that does it. Addresses and sizes are few, so that
/// steps have the same ones.
fn step([what, places, size, align]: [u8; 4]) -> (Step, u32) {
    let (old, pointer) = (u64::from(places >> 4), u64::from(places & 15));
    let size = if size == u8::MAX { u64::MAX } else { size.into() };
    let align = if align < 128 { 8 } else { u64::from(align - 128) };
    let step = match what & 3 {
        0 | 3 => Step::Alloc { pointer, size, align },
        1 => Step::Free { pointer, size: (what & 4 == 0).then_some(size) },
        _ => Step::Realloc { old, pointer, size, align },
    };
    (step, 1 + u32::from(what >> 4 & 3))
}

fn origin(number: u64, thread: u32) -> Origin {
    Origin { number, offset: 0, time_ns: 0, session: 1, thread, registry: 0, code: 0 }
}

/// Does the operations of all steps, and returns them.
fn do_all(steps: &[(Step, u32)]) -> Vec<Option<Op>> {
    let (mut live, mut memory) = (Live::new(), BTreeMap::new());
    let numbered = steps.iter().zip(1..);
    let ops: Vec<_> =
        numbered.map(|((step, thread), number)| live.step(*step, &origin(number, *thread))).collect();
    for op in ops.iter().flatten() {
        let can_be_done = match *op {
            Op::Alloc { slot, size, align } => align.is_power_of_two() && memory.insert(slot, size).is_none(),
            Op::Free { slot } => memory.remove(&slot).is_some(),
            Op::Realloc { slot, size } => memory.insert(slot, size).is_some(),
            _ => false,
        };
        assert!(can_be_done, "{op:?}");
    }
    let before = live.totals();
    let (faults, totals) = live.finish();
    assert_eq!((before.live_blocks, totals.live_blocks), (memory.len() as u64, memory.len() as u64));
    assert_eq!(totals.allocs + totals.frees + totals.reallocs, ops.iter().flatten().count() as u64);
    assert_eq!(faults.len() as u64, totals.faults.min(MAX_LISTED));
    assert!(faults.is_sorted_by_key(|fault| fault.origin.number));
    assert!(faults.iter().all(|fault| !fault.cause.to_string().is_empty()));
    assert!(totals.not_live + totals.inexcusable <= totals.faults);
    ops
}

/// Writes a stream of steps, in small blocks of each thread.
fn write(steps: &[(Step, u32)]) -> Vec<u8> {
    static REGISTRY: LazyLock<Registry> =
        LazyLock::new(|| telemetry_schema::parse_embedded(events::Decoder::REGISTRY).unwrap());
    let mut writer = Writer::new(Vec::new()).block_size(64);
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(1, &facts, 0, 1_700_000_000_000_000_000).unwrap();
    let registry = writer.registry(1, &REGISTRY).unwrap();
    for ((step, thread), ticks) in steps.iter().zip(1..) {
        let lane = Lane { session: 1, thread: *thread, registry };
        let (code, values) = match *step {
            Step::Alloc { pointer, size, align } => {
                (1, vec![Value::Addr(pointer), Value::Word(size), Value::Unsigned(align)])
            }
            Step::Free { pointer, size } => {
                (2, vec![Value::Addr(pointer), Value::Word(size.unwrap_or_default())])
            }
            Step::Realloc { old, pointer, size, align } => {
                let (old, pointer) = (Value::Addr(old), Value::Addr(pointer));
                (3, vec![old, pointer, Value::Word(size), Value::Unsigned(align)])
            }
        };
        writer.event(lane, code, ticks, &values).unwrap();
    }
    writer.end(1, steps.len() as u64 + 1).unwrap();
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> Vec<(Step, u32)> {
    let mut events = Reader::from_slice(bytes).order(Order::Time).events().unwrap();
    let mut steps = Vec::new();
    while let Some(event) = events.next().unwrap() {
        steps.push((Step::of(&event).expect("a marked event"), event.thread()));
    }
    steps
}

/// A replayer that refuses to allocate more than a limit.
struct Heap {
    live: Live,
    ops: Vec<Option<Op>>,
    limit: u64,
}

impl Heap {
    fn new(limit: u64) -> Heap {
        Heap { live: Live::with_capacity(4), ops: Vec::new(), limit }
    }

    fn step(&mut self, step: Step, place: &Place<'_>) -> Result<(), Op> {
        let number = self.ops.len() as u64 + 1;
        let op = self.live.step(step, &origin(number, place.thread()));
        if let Some(op) = op.filter(|op| is_beyond(*op, self.limit)) {
            return Err(op);
        }
        self.ops.push(op);
        Ok(())
    }
}

fn is_beyond(op: Op, limit: u64) -> bool {
    matches!(op, Op::Alloc { size, .. } | Op::Realloc { size, .. } if size > limit)
}

impl Replay for Heap {
    type Error = Op;

    fn allocated(&mut self, event: &events::Allocated<'_>, place: &Place<'_>) -> Result<(), Op> {
        let (pointer, size, align) = (event.block, event.size, event.align.into());
        self.step(Step::Alloc { pointer, size, align }, place)
    }

    fn freed(&mut self, event: &events::Freed<'_>, place: &Place<'_>) -> Result<(), Op> {
        self.step(Step::Free { pointer: event.block, size: Some(event.size) }, place)
    }

    fn resized(&mut self, event: &events::Resized<'_>, place: &Place<'_>) -> Result<(), Op> {
        let events::Resized { old, block: pointer, size, align, .. } = *event;
        self.step(Step::Realloc { old, pointer, size, align: align.into() }, place)
    }
}

/// Replays a stream of steps. The first operation beyond the limit ends it.
fn replay(bytes: &[u8], steps: &[(Step, u32)], expected: &[Option<Op>], limit: u64) {
    let refused = expected.iter().position(|op| op.is_some_and(|op| is_beyond(op, limit)));
    let mut heap = Heap::new(limit);
    match heap.replay(Reader::from_slice(bytes), PACE) {
        Ok(replayed) => {
            assert_eq!((refused, replayed.events, replayed.others), (None, steps.len() as u64, 0));
            assert!(replayed.completeness.is_complete(), "{}", replayed.completeness);
        }
        Err(ReplayError::Event { number, thread, cause, .. }) => {
            let at = refused.expect("an operation beyond the limit");
            assert_eq!((number, thread, Some(cause)), (at as u64 + 1, steps[at].1, expected[at]));
        }
        Err(error) => panic!("{error:?}"),
    }
    assert_eq!(heap.ops, expected[..refused.unwrap_or(expected.len())]);
}

/// Replays a stream that was changed.
fn replay_changed(bytes: &[u8]) {
    let mut heap = Heap::new(u64::MAX);
    match heap.replay(Reader::from_slice(bytes), PACE) {
        Ok(replayed) => {
            assert_eq!(replayed.events, heap.ops.len() as u64);
            assert_eq!(replayed.events + replayed.others, replayed.completeness.events);
            assert_eq!(replayed.completeness.bytes.total(), bytes.len() as u64);
        }
        Err(ReplayError::Read(Error::Version(_))) => {}
        Err(error) => panic!("{error:?}"),
    }
}
