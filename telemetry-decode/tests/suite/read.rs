//! Every way to read a stream, for comparison.

use std::collections::BTreeMap;
use std::io::Cursor;

use telemetry_decode::{Completeness, Events, Filter, Order, Reader, Value};

/// An event as it was written or read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) session: u64,
    pub(crate) thread: u32,
    pub(crate) registry: u64,
    pub(crate) kind: u8,
    pub(crate) code: u16,
    pub(crate) ticks: u64,
    pub(crate) values: Vec<String>,
}

/// Session, thread, registry, kind.
pub(crate) type LaneKey = (u64, u32, u64, u8);

impl Read {
    pub(crate) fn lane(&self) -> LaneKey {
        (self.session, self.thread, self.registry, self.kind)
    }
}

/// Everything about a value: which variant, and its bits.
pub(crate) fn show(value: &Value) -> String {
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
pub(crate) enum Way {
    MemoryInStream,
    MemoryByTime,
    PipeInStream,
    PipeByTime,
    FileInStream,
    FileByTime,
}

impl Way {
    pub(crate) const ALL: [Way; 6] = [
        Way::MemoryInStream,
        Way::MemoryByTime,
        Way::PipeInStream,
        Way::PipeByTime,
        Way::FileInStream,
        Way::FileByTime,
    ];

    pub(crate) fn by_time(self) -> bool {
        matches!(self, Way::MemoryByTime | Way::PipeByTime | Way::FileByTime)
    }

    /// The whole stream is looked through before the first event.
    pub(crate) fn looks_ahead(self) -> bool {
        self != Way::PipeInStream
    }
}

/// Reads all of a stream.
pub(crate) fn read(way: Way, stream: &[u8]) -> (Vec<Read>, Completeness) {
    read_filtered(way, stream, Filter::default())
}

/// Reads what a filter wants of a stream.
pub(crate) fn read_filtered(way: Way, stream: &[u8], filter: Filter) -> (Vec<Read>, Completeness) {
    let order = if way.by_time() { Order::Time } else { Order::Stream };
    let collect = |reader: Reader| collect(reader.order(order).filter(filter.clone()).events().unwrap());
    match way {
        Way::MemoryInStream | Way::MemoryByTime => collect(Reader::from_slice(stream)),
        Way::PipeInStream | Way::PipeByTime => collect(Reader::from_read(Dribble(Cursor::new(stream), 1))),
        Way::FileInStream | Way::FileByTime => {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), stream).unwrap();
            collect(Reader::open(file.path()).unwrap())
        }
    }
}

pub(crate) fn collect(mut events: Events) -> (Vec<Read>, Completeness) {
    let mut all = Vec::new();
    while let Some(event) = events.next().unwrap() {
        all.push(Read {
            session: event.session.id,
            thread: event.thread,
            registry: event.registry.fingerprint,
            kind: event.kind().bit,
            code: event.schema.code,
            ticks: event.ticks,
            values: event.values().map(|value| show(&value)).collect(),
        });
    }
    let completeness = events.completeness();
    assert!(events.next().unwrap().is_none(), "an event after the end");
    (all, completeness)
}

/// Events by lane, in the order in which they came.
pub(crate) fn by_lane(events: &[Read]) -> BTreeMap<LaneKey, Vec<&Read>> {
    let mut lanes = BTreeMap::<_, Vec<_>>::new();
    for event in events {
        lanes.entry(event.lane()).or_default().push(event);
    }
    lanes
}

/// Gives a few bytes at a time, never the same number twice in a row.
struct Dribble<'a>(Cursor<&'a [u8]>, usize);

impl std::io::Read for Dribble<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 * 7 % 1021 + 1;
        let most = self.1.min(to.len());
        self.0.read(&mut to[..most])
    }
}

/// Compares events, and shows the first difference alone.
#[track_caller]
pub(crate) fn assert_same(found: &[Read], expected: &[Read], context: &str) {
    let differs = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let index = differs.unwrap_or(found.len().min(expected.len()));
    assert_eq!(found.get(index), expected.get(index), "event {index}: {context}");
}

/// The same lane by lane, whatever the order of lanes.
#[track_caller]
pub(crate) fn assert_same_lanes(found: &[Read], expected: &[Read], context: &str) {
    let (found, expected) = (by_lane(found), by_lane(expected));
    for lane in found.keys().chain(expected.keys()) {
        let of = |lanes: &BTreeMap<LaneKey, Vec<&Read>>| {
            lanes.get(lane).into_iter().flatten().map(|event| (*event).clone()).collect::<Vec<_>>()
        };
        assert_same(&of(&found), &of(&expected), &format!("lane {lane:?}: {context}"));
    }
}
