//! Measures the conversion of segments, in processor time: `convert [MILLIONS]`.
//!
//! Each event has four numbers, as in `telemetry parquet`'s benchmark. Events of four threads
//! alternate.

use telemetry_decode::writer::{Lane, Writer};
use telemetry_decode::{Facts, Value};
use telemetry_lake::catalog::Catalog;
use telemetry_lake::convert::convert;
use telemetry_lake::state::SessionState;
use telemetry_testing::made::{Random, START};

const REGISTRY: &str = r#"
[registry]
name = "app"
version = "1.0.0"
doc = "Measured"

[kinds]
Work = { bit = 0, doc = "work" }

[[event]]
name = "Alloc"
code = 1
kind = "Work"
doc = "An allocation"
params = [
  { name = "address", sort = "addr", doc = "where" },
  { name = "size", sort = "word", doc = "bytes" },
  { name = "age", sort = "u32", doc = "how old" },
  { name = "level", sort = "u8", doc = "of a generation" },
]
"#;

fn main() {
    let millions: u64 = std::env::args().nth(1).map_or(4, |text| text.parse().expect("a number"));
    let registry = telemetry_schema::parse(REGISTRY).expect("it is valid");
    let mut writer = Writer::new(Vec::new()).block_size(60_000);
    let mut facts = Facts::default();
    facts.set("clock", "os");
    writer.session(1, &facts, 0, START).unwrap();
    let registry = writer.registry(1, &registry).unwrap();
    let (mut random, mut now, mut at) = (Random(1), 0, 0x7f00_0000_0000);
    for number in 0..millions * 1_000_000 {
        now += 20 + random.below(60);
        at += 16 * random.below(64);
        let lane = Lane { session: 1, thread: 1 + (number % 4) as u32, registry };
        let values = [
            Value::Addr(at),
            Value::Word(16 + 8 * random.below(100)),
            Value::Unsigned(random.below(5000)),
            Value::Unsigned(random.below(4)),
        ];
        writer.event(lane, 1, now, &values).unwrap();
    }
    writer.end(1, now + 1).unwrap();
    let stream = writer.finish().unwrap();
    let mut state = SessionState { session: 1, ..SessionState::default() };
    let start = cpu_ns();
    let files = convert(&stream, &mut state, &mut Catalog::default(), false).unwrap().files;
    let seconds = (cpu_ns() - start) as f64 / 1e9;
    let (rows, bytes) =
        files.iter().fold((0, 0), |(rows, bytes), file| (rows + file.rows, bytes + file.bytes.len()));
    let rate = rows as f64 / seconds / 1e6;
    println!(
        "{rows} rows of {} bytes in {seconds:.2} s of one core: {rate:.2} M rows/s, {bytes} bytes",
        stream.len()
    );
}

/// Returns the processor time of this thread, in nanoseconds.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    text.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}
