//! Streams for measurements: allocations, each with a pointer, an address, a word and a `u32`, on
//! four threads in turn.

use std::error::Error;
use std::io::Write;

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Value};

use crate::made::Random;

const REGISTRY: &str = r#"
[registry]
name = "speed"
version = { major = 1, median = 0, minor = 0 }
doc = "What the measurement writes"
[kinds]
Alloc = { bit = 0, doc = "allocations" }
[[event]]
name = "Allocate"
code = 1
kind = "Alloc"
doc = "An object was allocated"
params = [
  { name = "pool", sort = "pointer", doc = "from where" },
  { name = "at", sort = "addr", doc = "where" },
  { name = "size", sort = "word", unit = "bytes", doc = "how much" },
  { name = "level", sort = "u32", doc = "how old" },
]
"#;

/// Threads that emit in turn.
const THREADS: u64 = 4;

/// An event: its time in ticks, and its values.
pub struct Made {
    /// Ticks since the session's start.
    pub ticks: u64,
    /// Pool, address, size and level.
    pub values: [u64; 4],
}

/// Returns a stream of `events` allocations of random sizes, at rising addresses.
pub fn allocations(events: u64) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut facts = Facts::default();
    facts.set("ticks_per_second", 1_000_000_000_i64);
    let (mut random, mut ticks) = (Random(1), 0);
    write(Writer::new(Vec::new()), &facts, events, 100, |number| {
        ticks += 20 + random.below(50);
        let values = [0x7f00_0000_1000, 0x7f00_0100_0000 + number * 48, 16 + random.below(200), number % 3];
        Made { ticks, values }
    })
}

/// Writes a session of `events` events, of which each thread has `turn` at a time.
pub fn write<W: Write>(
    mut writer: Writer<W>,
    facts: &Facts,
    events: u64,
    turn: u64,
    mut make: impl FnMut(u64) -> Made,
) -> Result<W, Box<dyn Error>> {
    let registry =
        telemetry_schema::parse(REGISTRY).map_err(|invalid| invalid.render("registry", REGISTRY))?;
    writer.session(1, facts, 0, 1_700_000_000_000_000_000)?;
    let registry = writer.registry(1, &registry)?;
    let mut last = 0;
    for number in 0..events {
        let Made { ticks, values: [pool, at, size, level] } = make(number);
        let lane = Lane { session: 1, thread: 1 + (number / turn % THREADS) as u32, registry };
        let values = [Value::Pointer(pool), Value::Addr(at), Value::Word(size), Value::Unsigned(level)];
        writer.event(lane, 1, ticks, &values)?;
        last = ticks;
    }
    writer.end(1, last + 100)?;
    Ok(writer.finish()?)
}
