//! Every way to read a stream, for comparison.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::num::NonZeroUsize;

use telemetry_decode::{Completeness, Event, Events, Filter, Order, Reader, Value};

/// An event as it was written or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Its session.
    pub session: u64,
    /// Its thread.
    pub thread: u32,
    /// The number of its registry.
    pub registry: u64,
    /// The bit of its kind.
    pub kind: u8,
    /// Its code.
    pub code: u16,
    /// Its time.
    pub ticks: u64,
    /// Its values, by [`show`].
    pub values: Vec<String>,
}

/// Session, thread, registry, kind.
pub type LaneKey = (u64, u32, u64, u8);

impl Read {
    fn of(event: &Event<'_>) -> Read {
        Read {
            session: event.session().id,
            thread: event.thread(),
            registry: event.known_registry().fingerprint,
            kind: event.kind().bit,
            code: event.schema().code,
            ticks: event.ticks(),
            values: event.values().map(|value| show(&value)).collect(),
        }
    }

    /// Returns the event's lane.
    pub fn lane(&self) -> LaneKey {
        (self.session, self.thread, self.registry, self.kind)
    }
}

/// Returns all details of a value: its variant and its bits.
pub fn show(value: &Value) -> String {
    match value {
        Value::F32(x) => format!("F32({:08x})", x.to_bits()),
        Value::F64(x) => format!("F64({:016x})", x.to_bits()),
        Value::Array(array) => format!("{:?}", array.iter().map(|value| show(&value)).collect::<Vec<_>>()),
        Value::Named(named) => format!("Named({})", named.number()),
        plain => format!("{plain:?}"),
    }
}

/// A way to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A slice, in the order of the stream.
    MemoryInStream,
    /// A slice, by time.
    MemoryByTime,
    /// A pipe, in the order of the stream.
    PipeInStream,
    /// A pipe, by time.
    PipeByTime,
    /// A file, in the order of the stream.
    FileInStream,
    /// A file, by time.
    FileByTime,
    /// A slice with more blocks than the list in memory has, in the order of the stream.
    ListedInStream,
    /// The same, by time.
    ListedByTime,
    /// A slice, in batches and single events in turn, in the order of the stream.
    BatchesInStream,
    /// The same, by time.
    BatchesByTime,
    /// A slice, in short shards on several threads.
    Shards,
}

/// Number of blocks in the list in memory, for streams that have more.
const FEW: usize = 3;

impl Way {
    /// Every way.
    pub const ALL: [Way; 11] = [
        Way::MemoryInStream,
        Way::MemoryByTime,
        Way::PipeInStream,
        Way::PipeByTime,
        Way::FileInStream,
        Way::FileByTime,
        Way::ListedInStream,
        Way::ListedByTime,
        Way::BatchesInStream,
        Way::BatchesByTime,
        Way::Shards,
    ];

    /// Returns whether events come by time.
    pub fn by_time(self) -> bool {
        use Way::*;
        matches!(self, MemoryByTime | PipeByTime | FileByTime | ListedByTime | BatchesByTime)
    }

    /// Returns true if the whole stream is scanned before the first event.
    pub fn looks_ahead(self) -> bool {
        self != Way::PipeInStream
    }
}

/// Reads all of a stream.
pub fn read(way: Way, stream: &[u8]) -> (Vec<Read>, Completeness) {
    read_filtered(way, stream, Filter::default())
}

/// Reads the events of a stream that pass a filter, with all values.
pub fn read_filtered(way: Way, stream: &[u8], filter: Filter) -> (Vec<Read>, Completeness) {
    let order = if way.by_time() { Order::Time } else { Order::Stream };
    let collect = |reader: Reader| collect(shown(reader.order(order).filter(filter.clone())));
    match way {
        Way::MemoryInStream | Way::MemoryByTime => collect(Reader::from_slice(stream)),
        Way::BatchesInStream | Way::BatchesByTime => {
            let reader = Reader::from_slice(stream).order(order).filter(filter.clone());
            collect_batches(shown(reader))
        }
        Way::Shards => {
            let reader = Reader::from_slice(stream).order(order).filter(filter);
            collect_shards(shown(reader))
        }
        Way::ListedInStream | Way::ListedByTime => collect(Reader::from_slice(stream).max_in_memory(FEW)),
        Way::PipeInStream | Way::PipeByTime => collect(Reader::from_reader(Dribble(Cursor::new(stream), 1))),
        Way::FileInStream | Way::FileByTime => {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), stream).unwrap();
            collect(Reader::open(file.path()).unwrap())
        }
    }
}

fn shown(reader: Reader) -> Events {
    reader.show_sensitive(true).events().unwrap()
}

/// Returns all events, and the verdict.
pub fn collect(mut events: Events) -> (Vec<Read>, Completeness) {
    let mut all = Vec::new();
    while let Some(event) = events.next().unwrap() {
        all.push(Read::of(&event));
    }
    let completeness = events.completeness();
    assert!(events.next().unwrap().is_none(), "an event after the end");
    (all, completeness)
}

/// Returns all events, read in batches and single events in turn, and the verdict.
fn collect_batches(mut events: Events) -> (Vec<Read>, Completeness) {
    let mut all = Vec::new();
    while let Some(batch) = events.next_batch().unwrap() {
        let before = all.len();
        all.extend(batch.iter().map(|event| Read::of(&event)));
        assert!(batch.len() > 0 && all.len() == before + batch.len(), "the length of a batch");
        let Some(event) = events.next().unwrap() else { break };
        all.push(Read::of(&event));
    }
    let completeness = events.completeness();
    assert!(events.next_batch().unwrap().is_none(), "a batch after the end");
    (all, completeness)
}

/// Bytes of a shard: a few blocks.
const SHARD_LEN: u64 = 300;

/// Returns all events, read in shards, and the verdict.
fn collect_shards(mut events: Events) -> (Vec<Read>, Completeness) {
    let mut all = Vec::new();
    let read = |shard: &mut Events| {
        let mut of_shard = Vec::new();
        while let Some(event) = shard.next()? {
            of_shard.push(Read::of(&event));
        }
        Ok(of_shard)
    };
    let threads = NonZeroUsize::new(3).unwrap();
    events.read_shards_of(SHARD_LEN, threads, read, |of_shard, _| all.extend(of_shard)).unwrap();
    let completeness = events.completeness();
    assert!(events.next().unwrap().is_none(), "an event after the end");
    (all, completeness)
}

/// Returns events by lane, in the order of arrival.
pub fn by_lane(events: &[Read]) -> BTreeMap<LaneKey, Vec<&Read>> {
    let mut lanes = BTreeMap::<_, Vec<_>>::new();
    for event in events {
        lanes.entry(event.lane()).or_default().push(event);
    }
    lanes
}

/// Returns a few bytes at a time, never the same number twice in a row.
struct Dribble<'a>(Cursor<&'a [u8]>, usize);

impl std::io::Read for Dribble<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 * 7 % 1021 + 1;
        let most = self.1.min(to.len());
        self.0.read(&mut to[..most])
    }
}

/// Compares events, and shows only the first difference.
#[track_caller]
pub fn assert_same(found: &[Read], expected: &[Read], context: &str) {
    let differs = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let index = differs.unwrap_or(found.len().min(expected.len()));
    assert_eq!(found.get(index), expected.get(index), "event {index}: {context}");
}

/// Compares events lane by lane, whatever the order of lanes.
#[track_caller]
pub fn assert_same_lanes(found: &[Read], expected: &[Read], context: &str) {
    let (found, expected) = (by_lane(found), by_lane(expected));
    for lane in found.keys().chain(expected.keys()) {
        let of = |lanes: &BTreeMap<LaneKey, Vec<&Read>>| {
            lanes.get(lane).into_iter().flatten().map(|event| (*event).clone()).collect::<Vec<_>>()
        };
        assert_same(&of(&found), &of(&expected), &format!("lane {lane:?}: {context}"));
    }
}
