//! A stream with a parameter of each type, and what a condition finds in it.

use std::sync::Arc;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{EnumValue, Error, Events, Facts, Filter, Order, RawStr, Reader, Value};
use telemetry_filter::Condition;
use telemetry_schema::Registry;

const REGISTRY: &str = r#"
[registry]
name = "cache"
version = "1.0.0"
doc = "A cache"

[kinds]
Lookup = { bit = 0, doc = "per lookup" }
State = { bit = 1, doc = "changes" }

[types.Why]
repr = "i8"
values = { Unknown = -1, Full = 1, Old = 2 }

[types.Access]
repr = "u16"
flags = true
values = { Read = 1, Write = 2, Both = 3 }

[[event]]
name = "Evicted"
code = 1
kind = "Lookup"
doc = "An entry was evicted"
params = [
  { name = "entry", sort = "pointer" },
  { name = "size", sort = "word", unit = "bytes" },
  { name = "limit", sort = "u64" },
  { name = "delta", sort = "i32" },
  { name = "why", sort = "Why" },
  { name = "access", sort = "Access" },
  { name = "is_dirty", sort = "bool" },
  { name = "ratio", sort = "f64" },
  { name = "name", sort = "string" },
  { name = "owner", sort = "label" },
  { name = "sizes", sort = "[u32]" },
  { name = "age", sort = "u64", unit = "us" },
]

[[event]]
name = "Cleared"
code = 2
kind = "State"
doc = "The cache was cleared"
params = [{ name = "size", sort = "u32" }, { name = "time", sort = "u64" }]

[[event]]
name = "Beat"
code = 3
kind = "State"
doc = "Nothing"

[[event]]
name = "Interned"
code = 4
kind = "State"
doc = "A string got a number"
params = [{ name = "number", sort = "label" }, { name = "text", sort = "string", names = "number" }]
"#;

pub(crate) fn registry() -> Registry {
    telemetry_schema::parse(REGISTRY)
        .unwrap_or_else(|invalid| panic!("{}", invalid.render("registry", REGISTRY)))
}

/// The values of an eviction that tests change.
struct Evicted {
    size: u64,
    limit: u64,
    delta: i64,
    why: i128,
    access: i128,
    is_dirty: bool,
    ratio: f64,
    name: &'static [u8],
    owner: u64,
    sizes: &'static [u64],
    age: u64,
}

/// Writes a stream: evictions 1 to 3 on thread 1, `main`, and the rest on thread 2, `gc`.
pub(crate) fn stream() -> Vec<u8> {
    let registry = registry();
    let mut writer = Writer::new(Vec::new()).block_size(256);
    let mut facts = Facts::default();
    facts.set("program", "cachet");
    facts.set("ticks_per_second", 1_000_000_000);
    writer.session(7, &facts, 0, 1_700_000_000_000_000_000).unwrap();
    let fingerprint = writer.registry(7, &registry).unwrap();
    for (thread, name) in [(1, "main"), (2, "gc")] {
        let mut facts = Facts::default();
        facts.set("name", name);
        writer.thread(7, thread, &facts).unwrap();
    }
    let lane = |thread| Lane { session: 7, thread, registry: fingerprint };
    let evicted = [
        Evicted {
            size: 100,
            limit: 99,
            delta: -5,
            why: 1,
            access: 1,
            is_dirty: true,
            ratio: 0.5,
            name: b"alpha",
            owner: 1,
            sizes: &[1, 2],
            age: 1,
        },
        Evicted {
            size: 4096,
            limit: 4096,
            delta: 0,
            why: 2,
            access: 3,
            is_dirty: false,
            ratio: f64::NAN,
            name: b"b\xffta",
            owner: 2,
            sizes: &[],
            age: 1500,
        },
        Evicted {
            size: u64::MAX,
            limit: 1 << 63,
            delta: 7,
            why: -1,
            access: 6,
            is_dirty: false,
            ratio: -1.5,
            name: b"",
            owner: 9,
            sizes: &[70_000],
            age: 2_000_000,
        },
    ];
    for (number, text) in [(1, "arena"), (2, "pool")] {
        let values = [Value::Label(number), Value::String(RawStr(text.as_bytes()))];
        writer.event(lane(2), 4, number, &values).unwrap();
    }
    for (number, one) in (1_u64..).zip(&evicted) {
        let sizes: Vec<_> = one.sizes.iter().map(|size| Value::Unsigned(*size)).collect();
        let values = [
            Value::Pointer(0x7f00 + number),
            Value::Word(one.size),
            Value::Unsigned(one.limit),
            Value::Signed(one.delta),
            Value::Named(EnumValue::new(one.why)),
            Value::Named(EnumValue::new(one.access)),
            Value::Bool(one.is_dirty),
            Value::F64(one.ratio),
            Value::String(RawStr(one.name)),
            Value::Label(one.owner),
            Value::Array(sizes[..].into()),
            Value::Unsigned(one.age),
        ];
        writer.event(lane(1), 1, number * 1000, &values).unwrap();
    }
    writer.event(lane(2), 2, 4000, &[Value::Unsigned(100), Value::Unsigned(3)]).unwrap();
    writer.event(lane(2), 3, 5000, &[]).unwrap();
    writer.end(7, 6000).unwrap();
    writer.finish().unwrap()
}

/// Begins to read the events that match.
fn open<'s>(stream: &'s [u8], condition: &str, order: Order) -> Result<Events<'s>, Error> {
    let condition = Condition::parse(condition).unwrap_or_else(|error| panic!("{error}"));
    let filter = Filter::default().condition(Arc::new(condition) as Arc<_>);
    Reader::from_slice(stream).order(order).filter(filter).events()
}

/// Returns the number of bytes that are not decoded because of a condition.
pub(crate) fn skipped(stream: &[u8], condition: &str) -> u64 {
    let mut events = open(stream, condition, Order::Time).unwrap();
    while events.next().unwrap().is_some() {}
    events.completeness().bytes.filtered
}

/// Returns the events that match, by the microsecond of their time, and the number of others. The
/// two names of strings have the time 0.
pub(crate) fn matching(stream: &[u8], condition: &str, order: Order) -> Result<(Vec<i64>, u64), Error> {
    let mut events = open(stream, condition, order)?;
    let mut found = Vec::new();
    while let Some(event) = events.next()? {
        found.push(event.time_ns() / 1000);
    }
    let completeness = events.completeness();
    assert_eq!(completeness.events, found.len() as u64);
    Ok((found, completeness.lanes.iter().map(|lane| lane.filtered).sum()))
}
