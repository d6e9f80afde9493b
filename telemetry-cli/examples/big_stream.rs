//! Writes a stream to measure the command on: `cargo run --release --example big_stream FILE [MILLIONS]`.
//!
//! Events of a pointer, an address, a word and a `u32`, on four threads that take turns. Measure with,
//! for instance, `time telemetry cnv FILE > /dev/null`.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use telemetry_decode::{Facts, Lane, Value, Writer};

const RELATION: &str = r#"
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

const THREADS: u64 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let path = args.next().ok_or("expected the name of the file to write")?;
    let millions: u64 = args.next().map_or(Ok(10), |number| number.to_string_lossy().parse())?;

    let registry =
        telemetry_schema::parse(RELATION).map_err(|invalid| invalid.render("relation", RELATION))?;
    let mut facts = Facts::default();
    facts.set("program", "big_stream");
    facts.set("clock", "os");
    let mut writer = Writer::new(BufWriter::new(File::create(path)?));
    writer.session(1, &facts, 0, 1_700_000_000_000_000_000)?;
    let registry = writer.registry(1, &registry)?;
    let mut seed = 1_u64;
    for number in 0..millions * 1_000_000 {
        let lane = Lane { session: 1, thread: 1 + (number / 50 % THREADS) as u32, registry };
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let values = [
            Value::Pointer(0x7f00_0000_1000 + (seed >> 60) * 0x40),
            Value::Addr(0x7f10_0000_0000 + number * 48),
            Value::Word(16 << (seed >> 62)),
            Value::Unsigned(seed >> 61),
        ];
        writer.event(lane, 1, number * 25, &values)?;
    }
    writer.end(1, millions * 25_000_000)?;
    writer.finish()?;
    Ok(())
}
