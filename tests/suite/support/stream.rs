//! A stream read back by the generic reader, with the reader's verdict.

use std::collections::BTreeMap;
use std::path::Path;

use telemetry_decode::{Completeness, Order, Reader, Value};

/// A stream, decoded.
pub(crate) struct Stream {
    /// The program's events, by time.
    pub(crate) events: Vec<Event>,
    /// The runtime's own events.
    pub(crate) own: Vec<Event>,
    /// Names and versions of its registries.
    pub(crate) versions: Vec<String>,
    pub(crate) completeness: Completeness,
}

/// An event that owns its values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) thread: u32,
    pub(crate) ticks: u64,
    pub(crate) time_ns: i64,
    pub(crate) values: Vec<Owned>,
}

/// A value of any type, equal by its bits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Owned {
    Number(i128),
    F32(u32),
    F64(u64),
    Text(String),
    Bytes(Vec<u8>),
    Array(Vec<Owned>),
}

/// The registry of the runtime's own events.
const OWN: &str = "telemetry";

/// The number of events in a stream, and of lost ones, without the runtime's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) decoded: u64,
    pub(crate) lost: telemetry_format::Loss,
}

impl Stream {
    /// All events, by time. The test fails if the stream is damaged.
    pub(crate) fn read(path: impl AsRef<Path>) -> Stream {
        let stream = Stream::read_what_is_left(path);
        check(&stream.completeness);
        stream
    }

    /// All events, by time, of a stream of which blocks may be missing.
    pub(crate) fn read_what_is_left(path: impl AsRef<Path>) -> Stream {
        let mut events = Reader::open(path).expect("a stream").events().expect("a readable stream");
        let (mut read, mut own_events) = (Vec::new(), Vec::new());
        while let Some(event) = events.next().expect("a readable stream") {
            let to = if event.registry().name == OWN { &mut own_events } else { &mut read };
            to.push(Event {
                name: event.name().to_owned(),
                thread: event.thread(),
                ticks: event.ticks(),
                time_ns: event.time_ns(),
                values: event.values().map(own).collect(),
            });
        }
        let completeness = events.completeness();
        let registries = events.registries().iter();
        let versions = registries.map(|known| format!("{} {}", known.registry.name, known.registry.version));
        Stream { events: read, own: own_events, versions: versions.collect(), completeness }
    }

    /// The number of events by name.
    pub(crate) fn by_name(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        self.events.iter().for_each(|event| *counts.entry(event.name.as_str()).or_default() += 1);
        counts
    }
}

impl Counts {
    /// Counts the events of a stream without keeping them. The test fails if the stream is damaged.
    pub(crate) fn of(path: impl AsRef<Path>) -> Counts {
        let mut events =
            Reader::open(path).expect("a stream").order(Order::Stream).events().expect("a stream");
        let mut decoded = 0;
        while let Some(event) = events.next().expect("a readable stream") {
            decoded += u64::from(event.registry().name != OWN);
        }
        let completeness = events.completeness();
        check(&completeness);
        let own = events.registries().iter().find(|known| known.registry.name == OWN);
        let own = own.map(|known| known.fingerprint);
        let mut lost = completeness.lost();
        for lane in completeness.lanes.iter().filter(|lane| Some(lane.registry) == own) {
            lost.pool -= lane.lost.pool;
            lost.reentrant -= lane.lost.reentrant;
            lost.sink -= lane.lost.sink;
            lost.truncated -= lane.lost.truncated;
        }
        Counts { decoded, lost }
    }

    /// The numbers of decoded and of lost events.
    pub(crate) fn emitted(&self) -> u64 {
        self.decoded + self.lost.events()
    }
}

/// Checks that nothing is damaged, unknown or missing. Events may be lost, if the stream says so.
fn check(completeness: &Completeness) {
    assert_eq!(completeness.damaged_ranges, 0, "{:?}", completeness.damage);
    assert_eq!(completeness.undecodable_parts, 0, "{:?}", completeness.undecodable);
    assert_eq!(completeness.unreadable, []);
    assert_eq!(completeness.bytes.unknown, 0);
    assert_eq!(completeness.missing(), 0, "{completeness}");
    let bytes = completeness.bytes;
    assert_eq!(bytes.read, bytes.total(), "{bytes:?}");
}

fn own(value: Value<'_>) -> Owned {
    match value {
        Value::F32(x) => Owned::F32(x.to_bits()),
        Value::F64(x) => Owned::F64(x.to_bits()),
        Value::String(text) => Owned::Text(String::from_utf8(text.0.to_vec()).expect("UTF-8")),
        Value::Bytes(bytes) => Owned::Bytes(bytes.to_vec()),
        Value::Array(array) => Owned::Array(array.iter().map(own).collect()),
        _ => Owned::Number(value.as_i128().expect("a number")),
    }
}
